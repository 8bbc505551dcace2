// A real LDAP server (slapd, as Debian packages it) with a few users, in a folder of its own.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from './certificate.ts';
import { freePort } from './free-port.ts';
import { endAfterTests } from './left-running.ts';
import { eventually } from './node-process.ts';

export const slapd = '/usr/sbin/slapd';
const suffix = 'dc=test';

export interface LdapUser {
  name: string;
  password: string;
}

export class LdapServerProcess implements AsyncDisposable {
  private readonly folder: string;
  private readonly child: ChildProcess;
  readonly port: number;
  /** The port where TLS begins with the first byte. */
  readonly tlsPort: number;
  readonly certificate: string;
  /** The key of its certificate; a client that presents this certificate is the administrator. */
  readonly key: string;
  readonly template = `uid=%u,${suffix}`;
  readonly administrator = { dn: `cn=admin,${suffix}`, password: 'admin-secret' };

  private constructor(
    folder: string,
    child: ChildProcess,
    ports: readonly [number, number],
    { certificate, key }: { certificate: string; key: string },
  ) {
    this.folder = folder;
    this.child = child;
    [this.port, this.tlsPort] = ports;
    this.certificate = certificate;
    this.key = key;
  }

  /** Members of groups are users or groups by their names. */
  static async start(
    users: readonly LdapUser[],
    groups: Readonly<Record<string, readonly string[]>> = {},
  ): Promise<LdapServerProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'divan-ldap-'));
    const { certificate, key } = await makeCertificate();
    const write = (name: string, content: string): string => {
      writeFileSync(join(folder, name), content, { mode: 0o600 });
      return join(folder, name);
    };
    mkdirSync(join(folder, 'data'));
    const config = write(
      'slapd.conf',
      configOf(folder, write('tls.pem', certificate), write('tls.key', key)),
    );
    execFileSync('/usr/sbin/slapadd', ['-f', config, '-l', write('users.ldif', ldifOf(users, groups))], {
      stdio: 'ignore',
    });
    const ports = [await freePort(), await freePort()] as const;
    const urls = `ldap://127.0.0.1:${ports[0]}/ ldaps://127.0.0.1:${ports[1]}/`;
    const child = spawn(slapd, ['-f', config, '-h', urls, '-d', '0'], { stdio: 'ignore' });
    endAfterTests(child);
    await eventually(() => listens(ports[1]));
    return new LdapServerProcess(folder, child, ports, { certificate, key });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGTERM');
      await once(this.child, 'exit');
    }
    rmSync(this.folder, { recursive: true });
  }
}

const configOf = (folder: string, certificate: string, key: string): string =>
  [
    'include /etc/ldap/schema/core.schema',
    'include /etc/ldap/schema/cosine.schema',
    'include /etc/ldap/schema/inetorgperson.schema',
    'modulepath /usr/lib/ldap',
    'moduleload back_mdb',
    `pidfile ${folder}/slapd.pid`,
    `TLSCertificateFile ${certificate}`,
    `TLSCertificateKeyFile ${key}`,
    `TLSCACertificateFile ${certificate}`,
    'TLSVerifyClient try',
    `authz-regexp "cn=localhost" "cn=admin,${suffix}"`,
    'database mdb',
    'maxsize 10485760',
    `suffix "${suffix}"`,
    `rootdn "cn=admin,${suffix}"`,
    'rootpw admin-secret',
    `directory ${folder}/data`,
    'access to attrs=userPassword by anonymous auth by * none',
    'access to * by users read by * none',
    '',
  ].join('\n');

const ldifOf = (users: readonly LdapUser[], groups: Readonly<Record<string, readonly string[]>>): string =>
  [
    `dn: ${suffix}\nobjectClass: dcObject\nobjectClass: organization\no: test\ndc: test\n`,
    ...users.map(
      ({ name, password }) =>
        `dn: uid=${name},${suffix}\nobjectClass: inetOrgPerson\nuid: ${name}\ncn: ${name}\nsn: ${name}\nuserPassword: ${password}\n`,
    ),
    ...Object.entries(groups).map(
      ([name, members]) =>
        `dn: cn=${name},${suffix}\nobjectClass: groupOfNames\ncn: ${name}\n${members
          .map((member) => `member: ${member in groups ? 'cn' : 'uid'}=${member},${suffix}\n`)
          .join('')}`,
    ),
  ].join('\n');

async function listens(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}
