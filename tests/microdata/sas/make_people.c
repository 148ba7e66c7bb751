/* Makes the two SAS files of this folder: six invented people, and the labels of one column.
 *
 * Link with the ReadStat library, whose writer is the only free one for these formats:
 *     cc make_people.c -lreadstat -o make_people && ./make_people && gzip -9n people.sas7bdat formats.sas7bcat
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>
#include "readstat.h"
static ssize_t wr(const void *d, size_t n, void *ctx){ return write(*(int*)ctx,d,n); }
int main(void){
  readstat_error_t e;
  int fd=open("formats.sas7bcat",O_CREAT|O_TRUNC|O_WRONLY,0644);
  readstat_writer_t *w=readstat_writer_init(); readstat_set_data_writer(w,wr);
  readstat_label_set_t *ls=readstat_add_label_set(w,READSTAT_TYPE_DOUBLE,"SEXFMT");
  readstat_label_double_value(ls,1.0,"man"); readstat_label_double_value(ls,2.0,"woman");
  e=readstat_begin_writing_sas7bcat(w,&fd); if(e) printf("cat %s\n",readstat_error_message(e));
  e=readstat_end_writing(w); if(e) printf("cat end %s\n",readstat_error_message(e));
  readstat_writer_free(w); close(fd);
  fd=open("people.sas7bdat",O_CREAT|O_TRUNC|O_WRONLY,0644);
  w=readstat_writer_init(); readstat_set_data_writer(w,wr);
  readstat_variable_t *sex=readstat_add_variable(w,"sex",READSTAT_TYPE_DOUBLE,8);
  readstat_variable_set_format(sex,"SEXFMT"); readstat_variable_set_label(sex,"Sex of the head");
  readstat_variable_t *county=readstat_add_variable(w,"county",READSTAT_TYPE_STRING,8);
  readstat_variable_t *inc=readstat_add_variable(w,"income",READSTAT_TYPE_DOUBLE,8);
  const char *c[]={"01001","1001","Kent","01001","Kent","1001"};
  double s[]={1,2,2,1,1,2}; double in[]={1.5,2.25,10,11,12.75,20};
  e=readstat_begin_writing_sas7bdat(w,&fd,6); if(e) printf("dat %s\n",readstat_error_message(e));
  for(int i=0;i<6;i++){ readstat_begin_row(w);
    if(i==5) readstat_insert_missing_value(w,sex); else readstat_insert_double_value(w,sex,s[i]);
    readstat_insert_string_value(w,county,c[i]); readstat_insert_double_value(w,inc,in[i]); readstat_end_row(w);}
  e=readstat_end_writing(w); if(e) printf("dat end %s\n",readstat_error_message(e));
  readstat_writer_free(w); close(fd); return 0; }
