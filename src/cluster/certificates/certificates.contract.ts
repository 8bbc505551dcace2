// Routes of certificates.

import { field, form } from '#contract/fields.ts';
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import {
  authorityShape,
  clientAuthShape,
  extendedRootShape,
  nodeCertificateShape,
  nodeCertificatesShape,
  tlsPortsShape,
} from './certificates.shapes.ts';

const readSecurity: Access = { kind: 'permission', permission: 'cluster.admin.security!read' };
const writeSecurity: Access = { kind: 'permission', permission: 'cluster.admin.security!write' };

export const GetCertificate = defineRoute({
  id: 'certificates.authority',
  method: 'GET',
  path: '/pools/default/certificate',
  access: { kind: 'anyone' },
  answer: { text: 'text/plain' },
  doc: "The cluster's root certificate as PEM, or with `?extended=true` as an object.",
});

export const UploadAuthority = defineRoute({
  id: 'certificates.upload',
  method: 'POST',
  path: '/controller/uploadClusterCA',
  access: {
    kind: 'roles',
    roles: ['admin', 'security_admin'],
    permission: 'cluster.admin.security!write',
  },
  bodyKind: 'raw',
  answer: { json: extendedRootShape },
  doc: 'Makes the certificate of the body (PEM) the root of the cluster; from this machine only, unless allowed.',
});

export const GetRemoteRootUpload = defineRoute({
  id: 'certificates.upload_from_elsewhere_read',
  method: 'GET',
  path: '/settings/security/allowNonLocalCACertUpload',
  access: readSecurity,
  answer: { json: shape.boolean },
  doc: 'Whether other machines may upload a root certificate.',
});

export const SetRemoteRootUpload = defineRoute({
  id: 'certificates.upload_from_elsewhere',
  method: 'POST',
  path: '/settings/security/allowNonLocalCACertUpload',
  access: writeSecurity,
  bodyKind: 'raw',
  answer: { json: shape.array(shape.any) },
  doc: 'Allows other machines to upload a root certificate (body `true` or `false`); only from this machine.',
});

export const Regenerate = defineRoute({
  id: 'certificates.regenerate',
  method: 'POST',
  path: '/controller/regenerateCertificate',
  access: writeSecurity,
  query: form({
    forceResetCACertificate: field.boolean().default(true),
    dropUploadedCertificates: field.boolean().default(true),
  }),
  answer: { text: 'text/plain' },
  doc: 'Generates a new authority and new certificates for the nodes, which also replace loaded ones. `forceResetCACertificate=false` keeps the authority, `dropUploadedCertificates=false` keeps loaded certificates.',
});

export const LoadAuthorities = defineRoute({
  id: 'certificates.load_authorities',
  method: 'POST',
  path: '/node/controller/loadTrustedCAs',
  access: writeSecurity,
  answer: { json: shape.array(authorityShape) },
  doc: "Adds every certificate in `inbox/CA` of this node's data folder to the trusted authorities.",
});

export const GetTrustedAuthorities = defineRoute({
  id: 'certificates.trusted',
  method: 'GET',
  path: '/pools/default/trustedCAs',
  access: { kind: 'anyone' },
  answer: { json: shape.array(authorityShape) },
  doc: 'All root certificates that the cluster trusts.',
});

export const RemoveAuthority = defineRoute({
  id: 'certificates.remove_authority',
  method: 'DELETE',
  path: '/pools/default/trustedCAs/:authority',
  access: writeSecurity,
  answer: { status: 204 },
  doc: 'Removes a trusted authority by its number; refused while a node uses it.',
});

export const ReloadCertificate = defineRoute({
  id: 'certificates.reload',
  method: 'POST',
  path: '/node/controller/reloadCertificate',
  access: writeSecurity,
  bodyKind: 'raw',
  doc: "Loads `inbox/chain.pem` and `inbox/pkey.key` of this node's data folder as its certificate, at once and on every port.",
});

export const GetNodeCertificates = defineRoute({
  id: 'certificates.nodes',
  method: 'GET',
  path: '/pools/default/certificates',
  access: readSecurity,
  answer: { json: nodeCertificatesShape },
  doc: 'The certificates of all nodes, with warnings.',
});

export const GetNodeCertificate = defineRoute({
  id: 'certificates.node',
  method: 'GET',
  path: '/pools/default/certificate/node/:node',
  access: readSecurity,
  answer: { json: nodeCertificateShape },
  doc: 'The certificate of one node, by its address (`host:port`).',
});

export const GetClientAuth = defineRoute({
  id: 'certificates.client_auth_read',
  method: 'GET',
  path: '/settings/clientCertAuth',
  access: readSecurity,
  answer: { json: clientAuthShape },
  doc: 'Whether the TLS ports request client certificates.',
});

export const SetClientAuth = defineRoute({
  id: 'certificates.client_auth',
  method: 'POST',
  path: '/settings/clientCertAuth',
  access: writeSecurity,
  bodyKind: 'raw',
  answer: { status: 202 },
  doc: 'Requests (`enable`) or requires (`mandatory`) client certificates on the TLS ports, and sets which part of them holds the user name: `{"state":"enable","prefixes":[{"path":"subject.cn","prefix":"","delimiter":""}]}`. Answers 200 when nothing changed.',
});

export const GetTlsPorts = defineRoute({
  id: 'certificates.ports',
  method: 'GET',
  path: '/nodes/self/xdcrSSLPorts',
  access: { kind: 'anyone' },
  answer: { json: tlsPortsShape },
  doc: "This node's TLS ports.",
});
