/* Judge synthetic files from SAS (needs the option XCMD): understudy reads .sas7bdat files.
   We have no SAS: this program has never been executed. The command that it calls is tested.
   Row i of each synthetic file stands in for record i of the original. page.html is confidential.
   SYSRC is the exit code: 0 pass or review, 1 do not release. */
options noxwait xsync;
%macro evaluate(original, sets, synthesize, known);
  x "understudy evaluate ""&original"" &sets --synthesize &synthesize --known &known --report page.html";
  %put NOTE: understudy ended with &sysrc..;
%mend;
%evaluate(survey.sas7bdat, synthetic-1.sas7bdat synthetic-2.sas7bdat, county, %str(gender,age));
