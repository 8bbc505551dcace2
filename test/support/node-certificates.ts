// Certificates of an operator on a real node, and the logins of clients by certificate.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { administrator, type NodeProcess } from './node-process.ts';
import { fillInbox, type OpensslAuthority } from './openssl.ts';

const names = 'DNS:localhost,IP:127.0.0.1';

/** Gives the node a certificate of the authority, and makes it trust that authority. */
export async function installCertificate(
  node: NodeProcess,
  authority: OpensslAuthority,
  subject: string,
): Promise<void> {
  const { certificate, key } = authority.issue(subject, { names });
  fillInbox(join(node.dataDir, 'inbox'), {
    'CA/root.pem': authority.certificate,
    'chain.pem': certificate,
    'pkey.key': key,
  });
  assert.equal((await node.request('/node/controller/loadTrustedCAs', 'POST')).status, 200);
  const reloaded = await node.request('/node/controller/reloadCertificate', 'POST');
  assert.equal(reloaded.status, 200, await reloaded.text());
}

export async function setClientAuth(node: NodeProcess, state: string, path = 'subject.cn'): Promise<void> {
  const prefixes = state === 'disable' ? [] : [{ path, prefix: '', delimiter: '@' }];
  const { username, password } = administrator;
  const answer = await fetch(`${node.ready.node.rest}/settings/clientCertAuth`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
    body: JSON.stringify({ state, prefixes }),
  });
  assert.equal(answer.status, 202, await answer.text());
}
