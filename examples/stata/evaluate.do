* Judge synthetic files from Stata: understudy reads .dta files, value labels included.
* Row i of each synthetic file stands in for record i of the original. rc 1: do not release.
local sets ""
forvalues number = 1/5 {
    local sets `sets' "synthetic-`number'.dta"
}
shell understudy evaluate "survey.dta" `sets' --synthesize county --known gender,age > evaluation.txt
type evaluation.txt
