// Refusals of requests about certificates, their keys, and logins with client certificates.
import { defineRefusals } from '#contract/refusal.ts';

export const certificateRefusals = defineRefusals('certificates', {
  notFound: {
    status: 404,
    as: 'text',
    text: 'Not found',
    when: 'No trusted authority has this id.',
    published: true,
  },
  noRoot: { status: 404, as: 'text', text: 'There is no root certificate' },
  severalRoots: {
    as: 'text',
    text: 'this API is disabled, please use GET /pools/default/trustedCAs, see documentation for details',
    published: true,
  },
  unknownNode: {
    status: 404,
    as: 'text',
    text: 'Node is not found, make sure the ip address/hostname matches the ip address/hostname used by Divan',
    published: true,
  },
  noNodeCertificate: {
    status: 404,
    as: 'text',
    text: 'Certificate is not set up on this node',
    published: true,
  },
  unreadableUpload: { as: 'bare', field: 'error', text: '{problem}' },
  severalUploaded: {
    as: 'bare',
    field: 'error',
    text: 'Only one certificate per request is allowed.',
    published: true,
  },
  known: { as: 'bare', field: 'error', text: 'This certificate is already in use', published: true },
  tooManyAuthorities: {
    as: 'bare',
    field: 'error',
    text: 'At most {limit} authorities can be trusted; delete those not in use',
  },
  emptyFolder: { as: 'json', text: 'Directory {folder} is empty', published: true },
  unreadableAuthority: {
    as: 'json',
    text: "Couldn't load CA certificate from {path}. {problem}",
    published: true,
  },
  authorityInUse: {
    as: 'fields',
    text: 'The CA certificate is in use by the following nodes: {hosts}',
    published: true,
  },
  wrongOrder: {
    as: 'json',
    text: 'Certificate {subject} is not issued by the next certificate in chain {issuer}',
    published: true,
  },
  expired: {
    as: 'json',
    text: 'Incorrectly configured certificate chain. Error: cert_expired. Certificate: {subject}',
    published: true,
  },
  keyOfOther: {
    as: 'json',
    text: "Provided certificate doesn't match provided private key",
    published: true,
  },
  unfitKey: { as: 'json', text: '{problem}', when: 'No enabled cipher suite can use a key of this kind.' },
  untrusted: {
    as: 'json',
    text: "CA certificate for this chain is not found in the list of trusted CA's",
    published: true,
  },
  unreadableFile: { as: 'json', text: 'Unable to read {what} file {path}. {problem}', published: true },
  malformedChain: {
    as: 'json',
    text: 'Incorrectly configured certificate chain. {problem}',
    published: true,
  },
  malformedKey: { as: 'json', text: '{problem}', when: 'The key cannot be read or decrypted.' },
  passphraseFailed: { as: 'json', text: '{reason}', when: 'The script or the service gave no passphrase.' },
  uploadIsLocal: {
    as: 'text',
    text: 'API is accessible from localhost only (this behavior can be changed by means of POST /settings/security/allowNonLocalCACertUpload, see documentation for details)',
    published: true,
  },
  settingIsLocal: { as: 'text', text: 'API is accessible from localhost only', published: true },
  invalidUploadSetting: {
    as: 'errorList',
    text: "allowNonLocalCACertUpload - Accepted values are 'true' and 'false'.",
    published: true,
  },
  invalidClientAuth: { as: 'list', when: 'One text for each wrong value.' },
  clientAuthFormat: {
    as: 'json',
    text: "Unsupported format: Must contain 'state' and 'prefixes' fields",
    published: true,
  },
  clientAuthFields: {
    as: 'json',
    text: "Unsupported fields: Must contain 'state' and 'prefixes' fields only",
    published: true,
  },
  invalidJson: { as: 'json', text: 'Invalid JSON', published: true },
  tooManyPrefixes: { as: 'json', text: 'Maximum number of prefixes supported is {limit}', published: true },
});
