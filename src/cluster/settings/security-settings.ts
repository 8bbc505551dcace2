// TLS and security settings, for all services and for single ones.
import { type ServiceName, services } from '../security/security-state.ts';
import { type Effect, type Setting, type SettingGroup, setting } from './setting.ts';

const routes = ['security.set'];
const boolean = '`true`, `false`';
const versions = '`tlsv1`, `tlsv1.1`, `tlsv1.2`';
const suites =
  'JSON list of names from `supportedCipherSuites`, the preferred one first, under their IANA or OpenSSL names';

const effects: Readonly<Record<ServiceName, Effect>> = {
  data: 'effective',
  clusterManager: 'effective',
  fullTextSearch: 'search',
  index: 'effective',
  eventing: 'eventing',
  query: 'effective',
  analytics: 'analytics',
  backup: 'effective',
};

function ofService(service: ServiceName): Setting[] {
  const effect = effects[service];
  const all = service === 'clusterManager' ? versions : `${versions}, \`tlsv1.3\``;
  return [
    setting(`${service}.tlsMinVersion`, 'as for all', all, 'live', effect),
    setting(`${service}.cipherSuites`, 'as for all', suites, 'live', effect),
    setting(`${service}.honorCipherOrder`, 'as for all', boolean, 'live', effect),
  ];
}

export const securitySettings: readonly SettingGroup[] = [
  {
    title: 'TLS and security, for all services',
    routes,
    settings: [
      setting(
        'disableUIOverHttp',
        '`false`',
        boolean,
        'live',
        'effective',
        'disables `/ui/` on the plain port',
      ),
      setting(
        'disableUIOverHttps',
        '`false`',
        boolean,
        'live',
        'effective',
        'disables `/ui/` on the TLS port',
      ),
      setting(
        'disableWWWAuthenticate',
        '`false`',
        boolean,
        'live',
        'effective',
        '`true`: responses with 401 have no `WWW-Authenticate` header',
      ),
      setting('responseHeaders', 'none', 'JSON object with `Strict-Transport-Security`', 'live', 'effective'),
      setting(
        'tlsMinVersion',
        '`tlsv1.2`',
        versions,
        'live',
        'effective',
        'open connections keep their version',
      ),
      setting('cipherSuites', '`[]`: the runtime’s own', suites, 'live', 'effective'),
      setting('honorCipherOrder', '`true`', boolean, 'live', 'effective'),
      setting(
        'clusterEncryptionLevel',
        '`control`, once traffic between nodes is encrypted',
        '`control`, `all`, `strict`',
        'live',
        'effective',
        '`strict` closes the plain ports of REST, CAPI and the data, query, index and backup services to other machines; the others concern traffic between nodes',
      ),
    ],
  },
  {
    title: 'TLS, for single services',
    routes,
    settings: services.flatMap(ofService),
  },
];
