// Creates the services of certificates.
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { SettingsStore } from '../config/settings.store.ts';
import { CertificateReport } from './certificate-report.ts';
import { type CertificateFiles, CertificatesService, type ChosenSuites } from './certificates.service.ts';
import { CertificatesStore } from './certificates.store.ts';
import { clientAuthSetting } from './client-auth.ts';
import { ExpiryWatch } from './expiry-watch.ts';
import type { Inbox } from './inbox.ts';
import type { IssueCertificates } from './issue.ts';
import { NodeCertificate } from './node-certificate.ts';
import type { PassphraseSources } from './passphrase.ts';
import { RemoteRootUpload } from './remote-root-upload.ts';
import { TrustedAuthorities } from './trusted-authorities.ts';

export interface CertificatesOptions {
  store: ConfigStore;
  secrets: SecretBox;
  view: ClusterView;
  certificateFiles: CertificateFiles;
  inbox: Inbox;
  passphrases: PassphraseSources;
  issue: IssueCertificates;
  ownNames: readonly string[];
  suites: () => ChosenSuites;
  /** The reason why no chosen cipher suite works with a key of this kind; null if one does. */
  suitesProblem: (keyKind: string) => string | null;
  /** Called daily with each certificate that expires soon. */
  expiring(text: string): void;
  clock: Clock;
  random: Random;
  log: Log;
}

export type Certificates = ReturnType<typeof createCertificates>;

export function createCertificates(options: CertificatesOptions) {
  const store = new CertificatesStore(options.store, options.secrets);
  const clientAuth = clientAuthSetting(options.store);
  const parts = { ...options, store, clientAuth, files: options.certificateFiles };
  const report = new CertificateReport(parts);
  return {
    service: new CertificatesService(parts),
    authorities: new TrustedAuthorities(parts),
    node: new NodeCertificate(parts),
    report,
    clientAuth,
    expiry: new ExpiryWatch({ ...options, report }),
    remoteRootUpload: new RemoteRootUpload(new SettingsStore(options.store)),
    passphrases: options.passphrases,
  };
}
