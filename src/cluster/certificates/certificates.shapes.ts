// Schemas of the answers about certificates.
import { shape } from '#contract/json-schema.ts';

// `object(required, optional)`; `each(shape, ...names)` gives several fields the same shape.
const { object, each, array, string, integer, oneOf, time, named } = shape;

const warning = {
  name: oneOf('self_signed', 'unused', 'mismatch', 'expires_soon', 'expired'),
  message: string,
  severity: integer,
  severityName: oneOf('minimal', 'significant', 'serious'),
};
const warnings = array(named('CertificateWarning', object(warning, { expires: time })));
const warningsOfNodes = array(object(warning, { expires: time, node: string, ca: integer }));

const type = oneOf('generated', 'uploaded');
const root = { type, pem: string, subject: string, expires: time };

export const extendedRootShape = object({ ...root, cert: object(root), warnings: warningsOfNodes });

export const authorityShape = named(
  'TrustedAuthority',
  object(
    { id: integer, subject: string, notBefore: time, notAfter: time, pem: string },
    { type, loadTimestamp: time, ...each(string, 'loadHost', 'loadFile'), warnings, nodes: array(string) },
  ),
);

const ofNode = {
  type,
  ...each(string, 'pem', 'subject'),
  warnings,
  privateKeyPassphrase: shape.record(shape.any),
};
/** Absent where the certificate cannot be read. */
const expiry = { expires: time };
export const nodeCertificateShape = object(ofNode, expiry);
export const nodeCertificatesShape = array(object({ node: string, ...ofNode }, expiry));

export const clientAuthShape = object({
  state: oneOf('disable', 'enable', 'mandatory'),
  prefixes: array(
    object({
      path: oneOf('subject.cn', 'san.uri', 'san.dnsname', 'san.email'),
      ...each(string, 'prefix', 'delimiter'),
    }),
  ),
});

export const tlsPortsShape = object(each(integer, 'httpsMgmt', 'httpsCAPI'));
