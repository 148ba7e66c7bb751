# Draw labels as synthpop does by default (method "cart"), with R's own rpart:
#
#   Rscript rpart_sets.R records.csv m seed labels.csv
#
# records.csv has the label in column "label" and predictors, ordered ones as numbers; labels.csv gets
# one column for each of the m sets. One tree with at least five records in every leaf and no pruning;
# a record's synthetic label is that of a record drawn from its leaf. Written from the description in
# Nowok, Raab and Dibben (2016), doi:10.18637/jss.v074.i11; no code of synthpop is used.

library(rpart)

given <- commandArgs(trailingOnly = TRUE)
records <- read.csv(given[1], colClasses = c(label = "character"))
records$label <- factor(records$label)
set.seed(as.integer(given[3]))

tree <- rpart(label ~ ., data = records, method = "class",
              minbucket = 5, cp = 1e-8, xval = 0, maxcompete = 0, maxsurrogate = 0)
rows <- split(seq_len(nrow(records)), tree$where)
labels <- as.character(records$label)
draw <- function(set) {
  drawn <- character(nrow(records))
  for (leaf in rows) drawn[leaf] <- labels[leaf][sample.int(length(leaf), replace = TRUE)]
  drawn
}
sets <- vapply(seq_len(as.integer(given[2])), draw, character(nrow(records)))
write.csv(sets, given[4], row.names = FALSE)
cat(length(rows), "leaves\n")
