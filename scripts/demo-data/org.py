#!/usr/bin/python3
"""The demo's org of Salesforce, an imitation that the tests have (tests/salesforce/fake_org).

org.py set-up URL CERTIFICATE   makes the app, the integration user and an administrator
org.py load URL FOLDER          inserts the rows of FOLDER/*.csv, with Ids of the org's own
org.py query URL SOQL           prints what the REST API answers to an administrator, one record a line
"""
import csv
import json
import pathlib
import sys
import urllib.parse
import urllib.request

CLIENT, SECRET, ADMIN = "3MVG9.demo", "secret of the administrator's app", "admin@brightpath.example"
OBJECTS = ("account", "user", "contact", "lead", "opportunity", "opportunity_contact_role")


def call(url, body=None, headers=None):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def set_up(url, certificate):
    call(f"{url}/__org/settings", {"consumer_key": CLIENT, "certificate": pathlib.Path(certificate).read_text(encoding="ascii"),
                                   "client_secret": SECRET, "run_as": ADMIN})
    call(f"{url}/__org/users", {"username": "giftsync@brightpath.example", "permission_set": "giftsync_Integration"})
    call(f"{url}/__org/users", {"username": ADMIN, "permission_set": "Admin"})


def quoted(value):
    return "'" + value.replace("'", "''") + "'"


def load(url, folder):
    ids = {}
    for name in OBJECTS:
        with open(pathlib.Path(folder) / f"{name}.csv", encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            values = {column: value.strip() for column, value in row.items() if value.strip() and column != "Id"}
            if name in ("contact", "lead"):
                values["Name"] = " ".join(values[part] for part in ("FirstName", "LastName") if part in values)
            # A reference to a row that is not there is empty in Salesforce.
            values = {column: ids.get(value, "") if column.endswith("Id") else value for column, value in values.items()}
            cells = ", ".join({"true": "1", "false": "0"}.get(value, quoted(value)) for value in values.values())
            sql = f"INSERT INTO crm_{name} ({', '.join(values)}) VALUES ({cells}) RETURNING id"
            ids[row["Id"]] = call(f"{url}/__org/sql", {"sql": sql})["rows"][0][0]
        print(f"{name}: {len(rows)} rows")


def query(url, soql):
    form = urllib.parse.urlencode({"grant_type": "client_credentials", "client_id": CLIENT, "client_secret": SECRET}).encode()
    token = call(f"{url}/services/oauth2/token", form, {"Content-Type": "application/x-www-form-urlencoded"})["access_token"]
    answer = call(f"{url}/services/data/v62.0/query?" + urllib.parse.urlencode({"q": soql}),
                  headers={"Authorization": f"Bearer {token}"})
    for record in answer["records"]:
        print(json.dumps({name: value for name, value in record.items() if name != "attributes"}, ensure_ascii=False))


if __name__ == "__main__":
    {"set-up": set_up, "load": load, "query": query}[sys.argv[1]](*sys.argv[2:])
