import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { issuedCertificates } from '../../../test/support/manager.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { CertificateReport, type CertificateReportDeps } from './certificate-report.ts';

test('a certificate that cannot be read is shown without its end, beside those of other nodes', () => {
  const { authority, node } = issuedCertificates;
  const nodes = ['a', 'b'].map((name) => nodeNamed(name, { uuid: name }));
  const stored = { origin: 'generated', key: '', authorityId: 0, names: '', passphrase: {} };
  const authorities = [{ id: 0, origin: 'generated', pem: authority.certificate, loadedMs: 0, key: null }];
  const chains = { a: { ...stored, chain: 'damaged' }, b: { ...stored, chain: node.certificate } };
  const report = new CertificateReport({
    view: { cluster: aCluster({ nodes }) },
    store: { state: { nextId: 1, authorities, nodes: chains } },
    clock: new ManualClock(),
  } as unknown as CertificateReportDeps);
  const shown = report.nodes(({ uuid }) => uuid);
  assert.deepEqual(
    shown.map(({ node: name, subject, expires }) => [name, subject !== '', expires !== undefined]),
    [
      ['a', false, false],
      ['b', true, true],
    ],
  );
  assert.deepEqual(report.expiring(), []);
});
