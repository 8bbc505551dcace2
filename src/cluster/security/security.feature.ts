// Creates the security settings, their routes, and the values that listeners and answers use.
import type { BoundRoute } from '#contract/route.ts';
import type { ClusterHooks } from '#http/pipeline.ts';
import type { Log } from '#ports/log.ts';
import { runtimeCiphers, type TlsSpec } from '#ports/tls.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { Edition } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { encryptsBetween } from '../config/node-network.ts';
import type { ChangeNotifier } from '../config/until.ts';
import { WatchedSetting } from '../config/watched-setting.ts';
import { CipherNames } from './cipher-names.ts';
import { type CertificateUpload, headersOf } from './security.contract.ts';
import { securityRoutes } from './security.routes.ts';
import { SecurityService } from './security.service.ts';
import { defaults, noChoices, type SecurityState, type ServiceName } from './security-state.ts';
import { ServiceTls } from './service-tls.ts';

export interface SecurityOptions {
  store: ConfigStore;
  view: ClusterView;
  certificates: ChangeNotifier & {
    current(): TlsSpec | null;
    addRsaCertificate(): Promise<void>;
    keyKinds(): readonly string[];
  };
  certificateUpload: CertificateUpload;
  edition: Edition;
  /** Names of references to other clusters that are not fully secure. */
  insecureReferences: () => readonly string[];
  log: Log;
}

export interface SecurityParts {
  readonly service: SecurityService;
  readonly routes: readonly BoundRoute[];
  readonly hooks: Required<Pick<ClusterHooks, 'challenges' | 'responseHeaders'>>;
  tlsFor(service: ServiceName): ChangeNotifier & { current(): TlsSpec | null };
  start(): Promise<void>;
  stop(): void;
}

export function createSecurity(options: SecurityOptions): SecurityParts {
  const setting = new WatchedSetting<SecurityState>(options.store, 'security', noChoices);
  const service = new SecurityService({
    ...options,
    setting,
    ciphers: new CipherNames(runtimeCiphers),
    addRsaCertificate: () => options.certificates.addRsaCertificate(),
    keyKinds: () => options.certificates.keyKinds(),
    encryptsBetweenNodes: () => encryptsBetween(options.view.cluster.nodes),
    demandsClientCertificates: () => options.certificates.current()?.clients?.isDemanded ?? false,
  });
  const tls = new ServiceTls(options.certificates, service);
  return {
    service,
    routes: securityRoutes(service, options.certificateUpload),
    hooks: {
      challenges: () => !(service.state.disableWWWAuthenticate ?? defaults.disableWWWAuthenticate),
      responseHeaders: () => headersOf(service.state) ?? {},
    },
    tlsFor: (name) => ({
      current: () => tls.current(name),
      onChange: (listener) => tls.onChange(listener),
    }),
    start: () => setting.start(),
    stop: () => setting.stop(),
  };
}
