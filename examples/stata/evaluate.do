* Judge synthetic files from Stata: understudy reads .dta files, value labels included.
* We have no Stata: this program has never been executed. The command that it calls is tested.
* Row i of each synthetic file stands in for record i of the original. page.html is confidential.
local sets ""
forvalues number = 1/5 {
    local sets `sets' "synthetic-`number'.dta"
}
shell understudy evaluate "survey.dta" `sets' --synthesize county --known gender,age --report page.html > evaluation.txt 2>&1
type evaluation.txt
