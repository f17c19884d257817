/* scripts/bench --what hooks: the same POSTs as the daemon's by a plain libcurl program: threads with a kept connection each, a signature
 * of Standard Webhooks for each body. It has no store, no feed, no retries and no check of addresses.
 *
 * Usage: hook_posts URL BODIES CONNECTIONS   BODIES: a file with a body in each line
 */
#include <curl/curl.h>
#include <err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMaxConnections = 64, kSecretBytes = 32 };

static const char *url;
static char **lines;
static size_t line_count, connection_count;
static const unsigned char secret[kSecretBytes] = "0123456789abcdef0123456789abcde";

static size_t ignore(char *data, size_t size, size_t count, void *user) {
  (void)data, (void)user;
  return size * count;
}

/* The value of webhook-signature. */
static void sign(const char *id, long long seconds, const char *body, char *signature) {
  char head[128];
  const int head_bytes = snprintf(head, sizeof head, "%s.%lld.", id, seconds);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int digest_bytes = 0;
  const size_t body_bytes = strlen(body);
  unsigned char *text = malloc((size_t)head_bytes + body_bytes);
  if (!text) err(71, "memory");
  memcpy(text, head, (size_t)head_bytes);
  memcpy(text + head_bytes, body, body_bytes);
  HMAC(EVP_sha256(), secret, kSecretBytes, text, (size_t)head_bytes + body_bytes, digest, &digest_bytes);
  free(text);
  memcpy(signature, "v1,", 3);
  EVP_EncodeBlock((unsigned char *)signature + 3, digest, (int)digest_bytes);
}

static void post(CURL *handle, size_t number, const char *body) {
  char id[64], texts[3][160], signature[64];
  const long long now = (long long)time(NULL);
  snprintf(id, sizeof id, "evt_%lld_%zu", 1796043483LL, number);
  sign(id, now, body, signature);
  snprintf(texts[0], sizeof texts[0], "webhook-id: %s", id);
  snprintf(texts[1], sizeof texts[1], "webhook-timestamp: %lld", now);
  snprintf(texts[2], sizeof texts[2], "webhook-signature: %s", signature);
  struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
  for (int i = 0; i < 3; ++i) headers = curl_slist_append(headers, texts[i]);
  headers = curl_slist_append(headers, "Expect:");
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, body);
  curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
  const CURLcode result = curl_easy_perform(handle);
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  if (result != CURLE_OK || status != 204) errx(70, "%s: %s, status %ld", url, curl_easy_strerror(result), status);
  curl_slist_free_all(headers);
}

static void *post_share(void *first) {
  CURL *handle = curl_easy_init();
  curl_easy_setopt(handle, CURLOPT_URL, url);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_PROXY, "");
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "giftsync/bench");
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 15000L);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, ignore);
  for (size_t i = *(size_t *)first; i < line_count; i += connection_count) post(handle, i, lines[i]);
  curl_easy_cleanup(handle);
  return NULL;
}

static void read_lines(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) err(66, "%s", path);
  size_t space = 0;
  for (;;) {
    if (line_count == space && !(lines = realloc(lines, (space = space * 2 + 1024) * sizeof *lines))) err(71, "memory");
    char *line = NULL;
    size_t line_space = 0;
    const ssize_t bytes = getline(&line, &line_space, file);
    if (bytes < 0) break;
    if (bytes > 0 && line[bytes - 1] == '\n') line[bytes - 1] = 0;
    lines[line_count++] = line;
  }
  fclose(file);
}

int main(int argc, char **argv) {
  if (argc != 4) errx(64, "usage: hook_posts URL BODIES CONNECTIONS");
  url = argv[1];
  read_lines(argv[2]);
  connection_count = strtoul(argv[3], NULL, 10);
  if (connection_count < 1 || connection_count > kMaxConnections) errx(64, "connections: 1 to %d", kMaxConnections);
  curl_global_init(CURL_GLOBAL_ALL);
  pthread_t threads[kMaxConnections];
  size_t firsts[kMaxConnections];
  for (size_t i = 0; i < connection_count; ++i) {
    firsts[i] = i;
    if (pthread_create(&threads[i], NULL, post_share, &firsts[i]) != 0) errx(71, "no thread");
  }
  for (size_t i = 0; i < connection_count; ++i) pthread_join(threads[i], NULL);
  return 0;
}
