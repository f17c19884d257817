// Outbound messages as an org of Salesforce sends them.
#pragma once

#include <string>
#include <vector>

namespace giftsync::tests {

inline constexpr char kMessageOrganization[] = "00D5g000001XyZaEAK";

struct MessageParts {
  std::string organization = kMessageOrganization;
  std::string object = "Request_Record__c";
  std::string fields = "<sf:Name>R-000001</sf:Name>";  ///< of each record
};

/// One notification for each record Id.
inline std::string outbound_message(const std::vector<std::string>& records, const MessageParts& parts = {}) {
  std::string notifications;
  for (const std::string& record : records)
    notifications +=
        "   <Notification>\n    <Id>04l5g000001AbCdAAK</Id>\n    <sObject xsi:type=\"sf:" + parts.object +
        "\" xmlns:sf=\"urn:sobject.enterprise.soap.sforce.com\">\n     <sf:Id>" + record + "</sf:Id>\n     " +
        parts.fields + "\n    </sObject>\n   </Notification>\n";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" "
         "xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" "
         "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\n <soapenv:Body>\n"
         "  <notifications xmlns=\"http://soap.sforce.com/2005/09/outbound\">\n   <OrganizationId>" +
         parts.organization +
         "</OrganizationId>\n   <ActionId>04k5g000000AbCdAAK</ActionId>\n   <SessionId xsi:nil=\"true\"/>\n"
         "   "
         "<EnterpriseUrl>https://edge.my.salesforce.com/services/Soap/c/60.0/00D5g000001XyZa</"
         "EnterpriseUrl>\n"
         "   <PartnerUrl>https://edge.my.salesforce.com/services/Soap/u/60.0/00D5g000001XyZa</PartnerUrl>\n" +
         notifications + "  </notifications>\n </soapenv:Body>\n</soapenv:Envelope>\n";
}

}  // namespace giftsync::tests
