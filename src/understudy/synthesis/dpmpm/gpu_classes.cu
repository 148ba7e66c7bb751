// Classes of all records, as class_counts.py draws them, on a GPU: a warp draws a slice.
//
// The same slices, the same random numbers, the same sums in the same order: what a slice draws is
// what the compiled code draws, but for the last digit of logarithms and exponentials. The lanes of a
// warp share the products over variables; sums and searches over ranks are done by every lane alike,
// one rank after another, so that they round as they do there and no lane leaves the others.
//
// Without CUDA the file compiles as C++ with one lane, which is how it is tested where no GPU is.

#ifdef __CUDACC__
#define SHARED_BY_ALL extern "C" __global__
#define ON_GPU __device__ static inline
#define LANES 32
#define LANE ((int)(threadIdx.x & 31))
#define WAIT() __syncwarp()
#define ANY(condition) __any_sync(0xffffffffu, condition)
ON_GPU void add(long long *total, long long more) {
  atomicAdd((unsigned long long *)total, (unsigned long long)more);
}
#else
#include <cmath>
#define SHARED_BY_ALL extern "C"
#define ON_GPU static inline
#define LANES 1
#define LANE 0
#define WAIT()
#define ANY(condition) (condition)
ON_GPU void add(long long *total, long long more) { *total += more; }
using std::exp; using std::floor; using std::lgamma; using std::log; using std::log1p;
using std::sqrt; using std::fabs;
#endif

typedef unsigned long long word_t;

#define EACH(rank, first, last) for (int rank = (first) + LANE; rank < (last); rank += LANES)

struct Random { word_t a, b, c, counter; };  // state of SFC64

// What does not change during a sweep; arrays in device memory.
struct Sweep {
  const int *levels;             // (combination, variable)
  const long long *counts;       // (combination,)
  long long n_combinations;
  int n_variables, n_classes, n_heavy;
  const long long *classes;      // (rank,)
  const double *weights;         // (rank,)
  const double *heavy;           // (level, heavy rank) level probabilities
  const double *ceiling;         // (level,)
  double tail_weight;
  const double *probabilities;   // (level, class)
  int slice, small_count;
  double inversion, near_mode, smallest;
  long long *level_count;        // (level, class), added to
  int *failed;
};

// What a warp works with; arrays in shared memory, or on the heap without CUDA.
struct Desk {
  Random random;
  double *first;                 // (heavy rank,) weight times all variables but the last
  double *joint;                 // (rank,)
  const int *row;                // (variable,) of the combination
};

ON_GPU word_t draw_word(Random &r) {
  word_t word = r.a + r.b + r.counter;
  r.counter += 1;
  r.a = r.b ^ (r.b >> 11);
  r.b = r.c + (r.c << 3);
  r.c = ((r.c << 24) | (r.c >> 40)) + word;
  return word;
}

ON_GPU double uniform(Random &r) {
  return (double)(draw_word(r) >> 11) * (1.0 / 9007199254740992.0);
}

ON_GPU long long invert(double u, long long n_free, double p) {
  long long here = 0;
  double density = exp((double)n_free * log1p(-p));
  double odds = p / (1.0 - p), left = (double)n_free, following = 1.0;
  while (u >= density && here < n_free) {
    u -= density;
    here += 1;
    density *= odds * left / following;
    left -= 1.0;
    following += 1.0;
  }
  return here;
}

ON_GPU bool accepted(const Sweep &s, double here, long long n_free, double p, double below,
                     double above) {
  double mode = floor((double)(n_free + 1) * p), odds = p / (1.0 - p), n = (double)n_free;
  if (fabs(here - mode) >= s.near_mode) {
    double log_ratio = lgamma(mode + 1.0) + lgamma(n - mode + 1.0);
    log_ratio -= lgamma(here + 1.0) + lgamma(n - here + 1.0);
    log_ratio += (here - mode) * log(odds);
    return log(below / above) <= log_ratio;
  }
  double nearer = here < mode ? here : mode, farther = here < mode ? mode : here;
  double upper = nearer + 1.0, lower = n - nearer, uppers = 1.0, lowers = 1.0;
  while (upper <= farther) {
    uppers *= upper;
    lowers *= lower * odds;
    upper += 1.0;
    lower -= 1.0;
  }
  return here > mode ? below * uppers <= above * lowers : below * lowers <= above * uppers;
}

ON_GPU long long reject(const Sweep &s, Random &r, long long n_free, double p) {
  double n = (double)n_free, spread = sqrt(n * p * (1.0 - p));
  double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
  double inverse_b = 1.0 / b, surely = 0.92 - 4.2 * inverse_b;
  while (true) {
    double v = uniform(r), u = uniform(r) - 0.5, edge = 0.5 - fabs(u);
    double here = floor((2.0 * a / edge + b) * u + n * p + 0.5);
    if (edge >= 0.07 && v <= surely) return (long long)here;
    double below = v * (2.83 + 5.1 * inverse_b) * spread, above = a / (edge * edge) + b;
    if (0.0 <= here && here <= n && accepted(s, here, n_free, p, below, above))
      return (long long)here;
  }
}

ON_GPU long long draw_binomial(const Sweep &s, Random &r, long long n_free, double p) {
  double rare = p < 1.0 - p ? p : 1.0 - p;
  long long here = 0;
  if ((double)n_free * rare >= s.inversion) here = reject(s, r, n_free, rare);
  else if (rare > 0.0) here = invert(uniform(r), n_free, rare);
  return p <= 0.5 ? here : n_free - here;
}

ON_GPU int locate(double share, const double *joint, int first, int last) {
  int rank = first;
  while (rank < last - 1 && share >= joint[rank]) {
    share -= joint[rank];
    rank += 1;
  }
  return rank;
}

// Count records of this combination in the class of a rank, for all its variables.
ON_GPU void put(const Sweep &s, const Desk &d, int rank, long long here) {
  if (here > 0)
    EACH(v, 0, s.n_variables)
      add(&s.level_count[(long long)d.row[v] * s.n_classes + s.classes[rank]], here);
}

ON_GPU double weigh_first_levels(const Sweep &s, Desk &d) {
  double bound = s.tail_weight;
  for (int v = 0; v < s.n_variables - 1; v++) bound *= s.ceiling[d.row[v]];
  EACH(rank, 0, s.n_heavy) {
    double product = s.weights[rank];
    for (int v = 0; v < s.n_variables - 1; v++)
      product *= s.heavy[(long long)d.row[v] * s.n_heavy + rank];
    d.first[rank] = product;
  }
  WAIT();
  return bound;
}

ON_GPU double weigh_last_level(const Sweep &s, Desk &d) {
  const double *last = s.heavy + (long long)d.row[s.n_variables - 1] * s.n_heavy;
  WAIT();
  EACH(rank, 0, s.n_heavy) d.joint[rank] = d.first[rank] * last[rank];
  WAIT();
  double heavy = 0.0;
  for (int rank = 0; rank < s.n_heavy; rank++) heavy += d.joint[rank];
  return heavy;
}

ON_GPU double weigh_tail(const Sweep &s, Desk &d) {
  WAIT();
  EACH(rank, s.n_heavy, s.n_classes) {
    double product = s.weights[rank];
    for (int v = 0; v < s.n_variables; v++)
      product *= s.probabilities[(long long)d.row[v] * s.n_classes + s.classes[rank]];
    d.joint[rank] = product;
  }
  WAIT();
  double total = 0.0;
  for (int rank = s.n_heavy; rank < s.n_classes; rank++) total += d.joint[rank];
  return total;
}

ON_GPU bool draw_among_all(const Sweep &s, Desk &d, long long n_free) {
  int last = s.n_classes - 1;
  double total = weigh_tail(s, d);
  for (int rank = s.n_heavy - 1; rank >= 0; rank--) total += d.joint[rank];
  if (!(total > 0.0)) {
    put(s, d, 0, n_free);
    return true;
  }
  if (n_free < s.small_count) {
    for (; n_free > 0; n_free--)
      put(s, d, locate(uniform(d.random) * total, d.joint, 0, s.n_classes), 1);
    return false;
  }
  for (int rank = 0; rank < last && n_free > 0; rank++) {
    double p = d.joint[rank] / total;
    long long here = draw_binomial(s, d.random, n_free, p < 0.0 ? 0.0 : p > 1.0 ? 1.0 : p);
    put(s, d, rank, here);
    n_free -= here;
    total = total - d.joint[rank] > s.smallest ? total - d.joint[rank] : s.smallest;
  }
  put(s, d, last, n_free);
  return false;
}

ON_GPU void draw_few(const Sweep &s, Desk &d, long long n_free, double heavy, double bound) {
  while (n_free > 0) {
    double share = uniform(d.random) * (heavy + bound);
    if (share < heavy) {
      put(s, d, locate(share, d.joint, 0, s.n_heavy), 1);
    } else {
      share -= heavy;
      if (share >= weigh_tail(s, d)) continue;  // between the tail and its bound
      put(s, d, locate(share, d.joint, s.n_heavy, s.n_classes), 1);
    }
    n_free -= 1;
  }
}

ON_GPU long long draw_tail(const Sweep &s, Desk &d, double u, long long n_free, double heavy) {
  double tail = weigh_tail(s, d);
  long long n_tail = invert(u, n_free, tail / (heavy + tail));
  for (long long n = 0; n < n_tail; n++)
    put(s, d, locate(uniform(d.random) * tail, d.joint, s.n_heavy, s.n_classes), 1);
  return n_tail;
}

ON_GPU long long count_rare(const Sweep &s, Random &r, long long n_free, double lump, double heavy) {
  double expected = (double)n_free * lump;
  if (expected >= heavy) return draw_binomial(s, r, n_free, lump / heavy);
  double u = uniform(r);
  return u * heavy <= heavy - expected ? 0 : invert(u, n_free, lump / heavy);
}

ON_GPU int draw_rare(Random &r, const double *joint, int n_heavy, double lump, double rare, int most) {
  double share = uniform(r) * lump;
  int last = most;
  for (int rank = 0; rank < n_heavy; rank++)
    if (joint[rank] < rare && rank != most) {
      last = rank;
      if (share < joint[rank]) break;
      share -= joint[rank];
    }
  return last;
}

ON_GPU void draw_heavy(const Sweep &s, Desk &d, long long n_free, double heavy) {
  int most = 0;
  for (int rank = 1; rank < s.n_heavy; rank++) most = d.joint[rank] > d.joint[most] ? rank : most;
  double rare = 0.5 * heavy / (double)(n_free > 1 ? n_free : 1), lump = 0.0, kept = 0.0;
  for (int rank = 0; rank < s.n_heavy; rank++) {
    bool few = d.joint[rank] < rare && rank != most;
    lump += few ? d.joint[rank] : 0.0;
    kept += few ? 0.0 : d.joint[rank];
  }
  long long n_rare = count_rare(s, d.random, n_free, lump, heavy);
  n_free -= n_rare;
  for (long long n = 0; n < n_rare; n++)
    put(s, d, draw_rare(d.random, d.joint, s.n_heavy, lump, rare, most), 1);
  for (int rank = 0; rank < s.n_heavy; rank++)
    if (d.joint[rank] >= rare && rank != most && n_free > 0) {
      double p = d.joint[rank] / kept;
      long long here = draw_binomial(s, d.random, n_free, p < 1.0 ? p : 1.0);
      put(s, d, rank, here);
      n_free -= here;
      kept -= d.joint[rank];
    }
  put(s, d, most, n_free);
}

ON_GPU bool same_first_levels(const Sweep &s, const int *row) {
  bool other = false;
  EACH(v, 0, s.n_variables - 1) other |= row[v] != row[v - s.n_variables];
  return !ANY(other);
}

ON_GPU void draw_slice(const Sweep &s, Desk &d, long long first, long long last) {
  double first_bound = 0.0;
  bool failed = false;
  for (long long combination = first; combination < last; combination++) {
    d.row = s.levels + combination * s.n_variables;
    if (combination == first || !same_first_levels(s, d.row)) first_bound = weigh_first_levels(s, d);
    double heavy = weigh_last_level(s, d);
    double bound = first_bound * s.ceiling[d.row[s.n_variables - 1]];
    long long n_free = s.counts[combination];
    if (!(bound * (double)(n_free >= s.small_count ? n_free : 1) < heavy)) {
      failed |= draw_among_all(s, d, n_free);
    } else if (n_free < s.small_count) {
      draw_few(s, d, n_free, heavy, bound);
    } else {
      double u = uniform(d.random);
      if (u * heavy > heavy - (double)n_free * bound) n_free -= draw_tail(s, d, u, n_free, heavy);
      draw_heavy(s, d, n_free, heavy);
    }
  }
  if (failed && LANE == 0) *s.failed = 1;
}

ON_GPU Random random_of(const word_t *words, long long slice) {
  Random random = {words[3 * slice], words[3 * slice + 1], words[3 * slice + 2], 1};
  return random;
}

ON_GPU void draw_one(const word_t *words, const Sweep &s, long long slice, double *memory) {
  Random random = {words[3 * slice], words[3 * slice + 1], words[3 * slice + 2], 1};
  Desk d = {random, memory, memory + s.n_heavy, s.levels};
  long long first = slice * s.slice, last = first + s.slice;
  draw_slice(s, d, first, last < s.n_combinations ? last : s.n_combinations);
}

#ifdef __CUDACC__
// A block is one warp and draws one slice.
SHARED_BY_ALL void draw_slices(const word_t *words, const Sweep *sweep) {
  extern __shared__ double memory[];  // `first` and `joint`
  Sweep s = *sweep;
  draw_one(words, s, blockIdx.x, memory);
}

// A warp works out, for a combination, the log of its probability, the classes summed out.
SHARED_BY_ALL void log_probability(const int *levels, long long n_combinations, int n_variables,
                                   int n_classes, const double *weights,
                                   const double *probabilities, double *result) {
  long long combination = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  if (combination >= n_combinations) return;
  const int *row = levels + combination * n_variables;
  double total = 0.0;
  EACH(k, 0, n_classes) {
    double product = weights[k];
    for (int v = 0; v < n_variables; v++)
      product *= probabilities[(long long)row[v] * n_classes + k];
    total += product;
  }
  for (int step = LANES / 2; step > 0; step /= 2)
    total += __shfl_xor_sync(0xffffffffu, total, step);
  if (LANE == 0) result[combination] = log(total);
}
#else
SHARED_BY_ALL void draw_slices(const word_t *words, const Sweep *sweep, long long n_slices,
                               double *memory) {
  for (long long slice = 0; slice < n_slices; slice++) draw_one(words, *sweep, slice, memory);
}
#endif
