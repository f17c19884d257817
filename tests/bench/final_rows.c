#include "final_rows.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "baseline.h"

struct mail {
  char* name;
  char* text;
  size_t size;
};

static struct mail* mails;
static long mail_count;

struct final_rows_options read_final_rows_options(int argc, char** argv) {
  const long batch = argc == 6 ? strtol(argv[5], NULL, 10) : 0;
  if (batch < 1) {
    fprintf(stderr, "Usage: %s FINISHED FRESH FINISHED-FOLDER FRESH-FOLDER ROWS-IN-A-COMMIT\n", argv[0]);
    exit(EX_USAGE);
  }
  return (struct final_rows_options){argv[1], argv[2], argv[3], argv[4], batch};
}

static void read_mail(int folder, struct mail* mail, const char* name) {
  const int file = openat(folder, name, O_RDONLY);
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0) fail("open a mail", name);
  mail->name = strdup(name);
  mail->size = (size_t)about.st_size;
  mail->text = malloc(mail->size + 1);
  if (!mail->text || read(file, mail->text, mail->size) != (ssize_t)mail->size) fail("read a mail", name);
  close(file);
}

void read_mails(const char* path) {
  DIR* folder = opendir(path);
  if (!folder) fail("open the folder", path);
  long capacity = 0;
  for (struct dirent* entry = readdir(folder); entry; entry = readdir(folder)) {
    if (entry->d_name[0] == '.' || !strstr(entry->d_name, ".eml")) continue;
    if (mail_count == capacity) {
      capacity = capacity ? 2 * capacity : 1024;
      mails = realloc(mails, (size_t)capacity * sizeof *mails);
      if (!mails) fail("store the mails", "no memory");
    }
    read_mail(dirfd(folder), &mails[mail_count++], entry->d_name);
  }
  closedir(folder);
}

long write_mails(const char* path, long batch) {
  const int folder = open(path, O_RDONLY | O_DIRECTORY);
  if (folder < 0) fail("open the folder", path);
  for (long i = 0; i < mail_count; ++i) {
    const int file = openat(folder, mails[i].name, O_WRONLY | O_CREAT | O_EXCL, 0640);
    if (file < 0 || write(file, mails[i].text, mails[i].size) != (ssize_t)mails[i].size || fsync(file) != 0)
      fail("write a mail", mails[i].name);
    close(file);
    if ((i % batch == batch - 1 || i == mail_count - 1) && fsync(folder) != 0) fail("sync the folder", path);
  }
  close(folder);
  return mail_count;
}
