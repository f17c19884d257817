// tests: suppressions for Poco, which is built without ThreadSanitizer. The reference count of a socket,
// released by the accepting thread after the connection's thread has ended, orders both; the sanitizer does
// not see it.
#ifdef __SANITIZE_THREAD__
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:Poco::Net::SocketImpl::close\n"
         "race:Poco::Net::TCPServer::run\n"
         "race:Poco::Net::TCPServerDispatcher::run\n";
}
#endif
