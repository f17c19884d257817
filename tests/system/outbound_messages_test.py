#!/usr/bin/python3
"""Salesforce's outbound messages over HTTP, from `crm messages create` to the stored change events."""
import concurrent.futures
import xml.dom.minidom

import daemon_fixture
from http_client import Client

PATH = "/api/v1/crm/salesforce/messages/"
ORGANIZATION = "00D5g000001XyZaEAK"
RECORD = "a0B5g00000AbCdEEAV"
# The limit is one second; the rest allows for a busy build machine.
EFFECT_SECONDS = 5


def message(*records, organization=ORGANIZATION):
    """As an org sends it."""
    notifications = "".join(
        f'<Notification><Id>04l5g000001AbCdAAK</Id><sObject xsi:type="sf:Request_Record__c" '
        f'xmlns:sf="urn:sobject.enterprise.soap.sforce.com"><sf:Id>{record}</sf:Id></sObject></Notification>'
        for record in records)
    return ('<?xml version="1.0" encoding="UTF-8"?>'
            '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" '
            'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>'
            '<notifications xmlns="http://soap.sforce.com/2005/09/outbound">'
            f'<OrganizationId>{organization}</OrganizationId><SessionId xsi:nil="true"/>{notifications}'
            '</notifications></soapenv:Body></soapenv:Envelope>').encode()


class OutboundMessages(daemon_fixture.DaemonTestCase):
    def setUp(self):
        self.fixture = self.new_fixture(more="log: { level: debug }\n").seed().start()

    def connect(self):
        """As giftsync leaves it after its first sign-in."""
        self.fixture.query("INSERT INTO store_metadata (name, value) VALUES "
                           f"('salesforce_organization', '{ORGANIZATION}'), "
                           "('salesforce_request_object', 'a0B Request_Record__c')")

    def send(self, token, body):
        with Client(self.fixture) as client:
            return client.request("POST", PATH + token, body, {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": '""'},
                                  authorization=False)

    def wait_status(self, token, status):
        daemon_fixture.wait_until(lambda: self.send(token, message(RECORD)).status == status, f"status {status}", EFFECT_SECONDS)

    def new_token(self, verb, *more):
        url = self.fixture.ctl("crm", "messages", verb, *more).strip()
        self.assertTrue(url.startswith(self.fixture.url + PATH), url)
        return url.rpartition("/")[2]

    # MSG-2, MSG-3, MSG-8
    def test_messages_are_taken_from_the_creation_of_the_url_on(self):
        self.assertEqual(self.send("gmt_live_x", message(RECORD)).status, 404)
        token = self.new_token("create")
        self.wait_status(token, 503)
        response = self.send(token, message(RECORD))
        fault = xml.dom.minidom.parseString(response.body).getElementsByTagName("faultstring")[0].firstChild.data
        self.assertIn("has not read yet", fault)
        self.assertEqual(response.headers["Retry-After"], "60")
        self.connect()
        self.wait_status(token, 200)
        response = self.send(token, message(RECORD, RECORD))
        self.assertEqual(response.headers["Content-Type"], "text/xml; charset=utf-8")
        self.assertEqual(xml.dom.minidom.parseString(response.body).getElementsByTagName("Ack")[0].firstChild.data, "true")
        self.assertEqual(self.fixture.query("SELECT record_id FROM crm_change_event"), [(RECORD,)])
        self.assertEqual(self.send(token, message(RECORD, organization="00D5g000001AbCdEAK")).status, 403)
        self.assertEqual(self.send(token, b"<!DOCTYPE a [<!ENTITY b 'c'>]>" + message(RECORD)[38:]).status, 400)
        self.assertEqual(self.send(token, b"<a>" + b" " * 300_000 + b"</a>").status, 413)
        newer = self.new_token("rotate", "--grace", "1h")
        self.wait_status(newer, 200)
        self.assertEqual(self.send(token, message(RECORD)).status, 200)
        for prefix in (token[:16], newer[:16]):
            self.fixture.ctl("crm", "messages", "delete", prefix, "--yes")
        self.wait_status(newer, 404)
        self.assertEqual(self.send(token, message(RECORD)).status, 404)
        log = self.fixture.whole_log()
        self.assertIn(PATH + "{token}", log)
        for secret in (token, newer):
            self.assertNotIn(secret[16:], log)

    # MSG-7, MSG-9
    def test_a_flood_leaves_one_event_of_each_record_and_gift_requests_go_on(self):
        self.connect()
        token = self.new_token("create")
        self.wait_status(token, 200)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            statuses = list(pool.map(lambda _: self.send(token, message(RECORD, "a0B5g00000AbCdFEAV")).status, range(400)))
        self.assertLessEqual(set(statuses), {200, 503})
        self.assertIn(200, statuses)
        with Client(self.fixture) as client:
            self.assertEqual(client.send_gift("ada@example.com").status, 201)
        self.assertEqual(self.fixture.query("SELECT count(*) FROM crm_change_event"), [(2,)])
        self.fixture.restart()
        self.assertEqual(self.fixture.query("SELECT count(*) FROM crm_change_event"), [(2,)])


if __name__ == "__main__":
    daemon_fixture.main()
