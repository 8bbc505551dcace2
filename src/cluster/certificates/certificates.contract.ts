// Routes of certificates.
import { defineRoute } from '#contract/route.ts';

export const GetCertificate = defineRoute({
  id: 'certificates.authority',
  method: 'GET',
  path: '/pools/default/certificate',
  access: { kind: 'anyone' },
  doc: "The cluster's root certificate as PEM, or with `?extended=true` as an object.",
});

export const GetTrustedAuthorities = defineRoute({
  id: 'certificates.trusted',
  method: 'GET',
  path: '/pools/default/trustedCAs',
  access: { kind: 'anyone' },
  doc: 'All root certificates that the cluster trusts.',
});

export const GetTlsPorts = defineRoute({
  id: 'certificates.ports',
  method: 'GET',
  path: '/nodes/self/xdcrSSLPorts',
  access: { kind: 'anyone' },
  doc: "This node's TLS ports.",
});
