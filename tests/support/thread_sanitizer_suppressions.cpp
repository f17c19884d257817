// tests: suppressions for Poco, whose sockets the tests' proxy uses and which is built without
// ThreadSanitizer. The reference count of a socket orders the threads that release it; the sanitizer does not
// see it.
#ifdef __SANITIZE_THREAD__
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:Poco::Net::SocketImpl::close\n";
}
#endif
