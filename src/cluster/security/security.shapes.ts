// Schemas of the answers about security settings.
import { shape } from '#contract/json-schema.ts';
import { services } from './security-state.ts';

const { object, each, array, record, string, boolean, oneOf, either } = shape;

const tls = {
  tlsMinVersion: oneOf('tlsv1', 'tlsv1.1', 'tlsv1.2', 'tlsv1.3'),
  cipherSuites: array(string),
  honorCipherOrder: boolean,
};
const service = object({ supportedCipherSuites: array(string) }, tls);

export const securityShape = object(
  {
    ...each(boolean, 'disableUIOverHttp', 'disableUIOverHttps', 'disableWWWAuthenticate'),
    allowNonLocalCACertUpload: boolean,
    responseHeaders: either(record(string), array(string)),
    ...tls,
    ...each(service, ...services),
  },
  { clusterEncryptionLevel: string },
);

export const securityValueShape = either(boolean, string, array(string), record(string));

/** One service, or the value of one setting. */
export const securityPartShape = either(service, securityValueShape);
