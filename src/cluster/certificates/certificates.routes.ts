// From requests about certificates to the service.
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import * as contract from './certificates.contract.ts';
import type { Authority, CertificatesService } from './certificates.service.ts';

export function certificateRoutes(deps: { service: CertificatesService; view: ClusterView }): BoundRoute[] {
  const { service, view } = deps;
  return [
    bind(contract.GetCertificate, async ({ query }) => {
      const authority = await service.authority();
      return query['extended'] === 'true' ? reply.json(extended(authority)) : reply.text(authority.pem);
    }),
    bind(contract.GetTrustedAuthorities, async (_, context) => {
      const node = nodeAddress({ node: view.self, localAddress: context.local.address });
      const known = trusted(await service.authority());
      const details = { warnings: [], type: 'generated', nodes: [node] };
      return reply.json([context.may('cluster.admin.security!read') ? { ...known, ...details } : known]);
    }),
    bind(contract.GetTlsPorts, () => {
      const { mgmtSSL, capiSSL } = view.self.ports;
      return reply.json({ httpsMgmt: mgmtSSL, httpsCAPI: capiSSL });
    }),
  ];
}

const extended = ({ pem, subject, notAfter }: Authority) => ({
  type: 'generated',
  pem,
  subject,
  expires: notAfter.toISOString(),
  warnings: [],
});

const trusted = ({ pem, subject, notBefore, notAfter }: Authority) => ({
  id: 0,
  subject,
  notBefore: notBefore.toISOString(),
  notAfter: notAfter.toISOString(),
  pem,
});
