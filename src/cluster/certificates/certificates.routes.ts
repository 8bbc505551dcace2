// Maps requests about certificates to the services.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import type { Edition, NodeState } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { nodeAddress } from '../nodes/node-record.ts';
import { certificateRefusals } from '../refusals/certificates.refusals.ts';
import type { EncryptionLevel } from '../security/security-state.ts';
import * as contract from './certificates.contract.ts';
import type { Certificates } from './certificates.feature.ts';
import { ofThisVersion, readClientAuth } from './client-auth.ts';
import { readPassphrase } from './passphrase.ts';

interface Deps {
  certificates: Certificates;
  view: ClusterView;
  edition: Edition;
  security: { readonly encryptionLevel: EncryptionLevel | null };
}

export function certificateRoutes(deps: Deps): BoundRoute[] {
  const routes = [...rootRoutes(deps), ...authorityRoutes(deps), ...nodeRoutes(deps), ...clientRoutes(deps)];
  const served = deps.edition === 'enterprise' ? routes : routes.map(refused);
  return [
    ...served,
    bind(contract.GetTlsPorts, () => {
      const { mgmtSSL, capiSSL } = deps.view.self.ports;
      return reply.json({ httpsMgmt: mgmtSSL, httpsCAPI: capiSSL });
    }),
  ];
}

const refused = ({ route }: BoundRoute): BoundRoute => ({
  route,
  handler: () => {
    throw generalRefusals.enterpriseOnly();
  },
});

const addressFor = (context: Context) => (node: NodeState) =>
  nodeAddress({ node, localAddress: context.local.address });

function rootRoutes({ certificates }: Deps): BoundRoute[] {
  const { service, authorities, report, remoteRootUpload } = certificates;
  return [
    bind(contract.GetCertificate, async ({ query }, context) => {
      await service.ready;
      const root = report.root();
      const isExtended = query['extended'] === 'true';
      return isExtended ? reply.json(report.extendedRoot(root, addressFor(context))) : reply.text(root.pem);
    }),
    bind(contract.UploadAuthority, async ({ body }, context) => {
      await remoteRootUpload.check(context.remoteAddress);
      await service.ready;
      const uploaded = await authorities.upload(body.toString('utf8'));
      return reply.json(report.extendedRoot(uploaded, addressFor(context)));
    }),
    bind(contract.GetRemoteRootUpload, async () => reply.json(await remoteRootUpload.allowed())),
    bind(contract.SetRemoteRootUpload, async ({ body }, context) => {
      await remoteRootUpload.set(body.toString('utf8'), context.remoteAddress);
      return reply.json([]);
    }),
    bind(contract.Regenerate, async ({ query }) => {
      await service.ready;
      const { forceResetCACertificate, dropUploadedCertificates } = query;
      const authority = await service.regenerate({
        authority: forceResetCACertificate,
        loaded: dropUploadedCertificates,
      });
      return reply.text(authority.pem);
    }),
  ];
}

function clientRoutes({ certificates: { clientAuth }, security }: Deps): BoundRoute[] {
  return [
    bind(contract.GetClientAuth, () => reply.json(ofThisVersion(clientAuth.value))),
    bind(contract.SetClientAuth, async ({ body }) => {
      const { encryptionLevel } = security;
      const isAllEncrypted = encryptionLevel === 'all' || encryptionLevel === 'strict';
      const wanted = readClientAuth(body.toString('utf8'), { isAllEncrypted });
      const isNew = JSON.stringify(wanted) !== JSON.stringify(ofThisVersion(clientAuth.value));
      if (isNew) await clientAuth.change((before) => ({ ...before, ...wanted }));
      return reply.empty(isNew ? 202 : 200);
    }),
  ];
}

function authorityRoutes({ certificates }: Deps): BoundRoute[] {
  const { service, authorities, report } = certificates;
  return [
    bind(contract.LoadAuthorities, async (_, context) => {
      await service.ready;
      const details = { addressOf: addressFor(context) };
      return reply.json((await authorities.load()).map((authority) => report.authority(authority, details)));
    }),
    bind(contract.GetTrustedAuthorities, async (_, context) => {
      await service.ready;
      const isFull = context.may('cluster.admin.security!read');
      return reply.json(report.trusted(isFull ? { addressOf: addressFor(context) } : null));
    }),
    bind(contract.RemoveAuthority, async ({ params }) => {
      const { authority = '' } = params;
      if (!/^\d{1,9}$/.test(authority)) throw certificateRefusals.notFound();
      await authorities.remove(Number(authority));
      return reply.empty(204);
    }),
  ];
}

function nodeRoutes({ certificates, view }: Deps): BoundRoute[] {
  const { service, node, report, passphrases } = certificates;
  return [
    bind(contract.ReloadCertificate, async ({ body }) => {
      await service.ready;
      await node.reload(await readPassphrase(body.toString('utf8'), passphrases));
      return reply.empty();
    }),
    bind(contract.GetNodeCertificates, async (_, context) => {
      await service.ready;
      return reply.json(report.nodes(addressFor(context)));
    }),
    bind(contract.GetNodeCertificate, async ({ params }, context) => {
      await service.ready;
      const addressOf = addressFor(context);
      const wanted = view.cluster.nodes.find((candidate) => addressOf(candidate) === params['node']);
      if (!wanted) throw certificateRefusals.unknownNode();
      const certificate = report.node(wanted);
      if (!certificate) throw certificateRefusals.noNodeCertificate();
      return reply.json(certificate);
    }),
  ];
}
