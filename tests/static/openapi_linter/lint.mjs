// node lint.mjs FILE: prints what Redocly's linter finds in an OpenAPI description, one finding a line. Exit code 1: there is one.
import { createConfig, lint } from "@redocly/openapi-core";

const config = await createConfig({
  extends: ["all"],
  rules: {
    "info-contact": "off", // Each installation has an operator of its own.
    "info-license": "off", // The description is part of the program and has no licence of its own.
    "no-required-schema-properties-undefined": "off", // It does not see the properties beside a oneOf of `required`.
    "path-segment-plural": "off", // The specification fixes the paths.
    "paths-kebab-case": "off", // The specification fixes the paths.
    "required-string-property-missing-min-length": "off", // Responses promise no least length.
    "response-mime-type": "off", // Problems are application/problem+json (RFC 9457), pages of operators are text/plain.
    "scalar-property-missing-example": "off", // Requests and responses have examples as a whole.
    "tags-alphabetical": "off", // The order of the tags is the order of the chapters.
  },
});
// Salesforce sends SOAP and reads nothing else: the one body in XML, and its refusals.
const soap = ["~1crm~1salesforce~1messages~1{token}/post/requestBody/content/text~1xml", "#/components/responses/SoapFault"];
const isSoap = ({ ruleId, location: [where] }) =>
  ["request-mime-type", "operation-4xx-problem-details-rfc7807"].includes(ruleId) && soap.some((one) => where.pointer.endsWith(one));
const findings = (await lint({ ref: process.argv[2], config })).filter((finding) => !isSoap(finding));
for (const { ruleId, message, location: [where] } of findings) console.log(`${where.pointer}: ${message} (${ruleId})`);
process.exitCode = findings.length > 0 ? 1 : 0;
