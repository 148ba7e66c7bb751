# Judge synthetic data from R: base R and the program `understudy`, and nothing else.
#
#   source("understudy.R")
#   sds <- synthpop::syn(df, method = c("", "", "cart"), m = 5)
#   result <- understudy_evaluate(sds, df, known = list(c("sex", "age"), "sex"))
#   result$status      0: measured; 1: the verdict is "do not release"; 2: the input is wrong

# The synthetic data frames of a synthpop object, or of a list of data frames.
understudy_sets <- function(sds) {
  sets <- if (is.list(sds) && !is.null(sds$syn)) sds$syn else sds
  if (is.data.frame(sets)) sets <- list(sets)
  if (!length(sets) || !all(vapply(sets, is.data.frame, logical(1))))
    stop("expected a synthpop object, or synthetic data frames in a list")
  sets
}

# What synthpop drew: the columns with a method; without methods, the columns that differ.
understudy_synthesized <- function(sds, df) {
  if (is.list(sds) && !is.null(sds$syn) && !is.null(sds$method))
    return(names(sds$method)[sds$method != ""])
  first <- understudy_sets(sds)[[1]]
  same <- vapply(names(df), function(name)
    nrow(first) == nrow(df) &&
      identical(as.character(first[[name]]), as.character(df[[name]])), logical(1))
  names(df)[!same]
}

understudy_write <- function(frame, path) {
  write.csv(frame, path, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  path
}

# Measure the risk and utility of synthetic data.
#   sds         a synthpop object, a data frame, or a list of them; row i stands in for record i
#   df          the confidential data frame
#   synthesize  columns that were synthesized; found in the synthpop object when left out
#   known       what intruders know: a list with one vector of columns for each intruder
#   options     further options of `understudy evaluate`, such as c("--report", "page.html")
#   command     how the program is called, such as c("python", "-m", "understudy")
# The data are written to a temporary folder that only you can read, and removed afterwards.
understudy_evaluate <- function(sds, df, synthesize = NULL, known = NULL,
                                options = character(0), command = "understudy") {
  sets <- understudy_sets(sds)
  if (is.null(synthesize)) synthesize <- understudy_synthesized(sds, df)
  if (!length(synthesize)) stop("expected columns to synthesize: no column differs")
  folder <- tempfile("understudy-")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  original <- understudy_write(df, file.path(folder, "original.csv"))
  files <- vapply(seq_along(sets), function(number)
    understudy_write(sets[[number]][names(df)],
                     file.path(folder, sprintf("synthetic-%03d.csv", number))), "")
  knowledge <- unlist(lapply(known, function(names) c("--known", paste(names, collapse = ","))))
  arguments <- c(command[-1], "evaluate", original, files,
                 "--synthesize", paste(synthesize, collapse = ","), knowledge, options)
  output <- suppressWarnings(system2(command[1], shQuote(arguments), stdout = TRUE))
  status <- attr(output, "status")
  structure(list(status = if (is.null(status)) 0L else as.integer(status),
                 output = as.character(output)), class = "understudy_evaluation")
}

print.understudy_evaluation <- function(x, ...) {
  cat(x$output, sep = "\n")
  invisible(x)
}
