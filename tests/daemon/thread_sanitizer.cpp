// tests: what ThreadSanitizer cannot know of Poco, which is not built for it: the reference count of a
// socket, dropped by the accepting thread after the connection's thread has ended, orders both; the sanitizer
// does not see it count.
#ifdef __SANITIZE_THREAD__
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:Poco::Net::SocketImpl::close\n"
         "race:Poco::Net::TCPServer::run\n"
         "race:Poco::Net::TCPServerDispatcher::run\n";
}
#endif
