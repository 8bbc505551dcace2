// Parameters of support bundles.
import { type SettingGroup, setting } from './setting.ts';

export const logParameters: readonly SettingGroup[] = [
  {
    title: 'Support bundles',
    routes: ['log_collection.start'],
    settings: [
      setting(
        'nodes',
        'required',
        '`*`, or the `otpNode` of each wanted node, separated by commas',
        'live',
        'effective',
      ),
      setting(
        'logDir',
        '`tmp` in the data folder',
        'an absolute path of a folder that can be written',
        'live',
        'effective',
        'the default folder keeps the last five bundles',
      ),
      setting('tmpDir', 'none', 'an absolute path', 'live', 'kept', 'no temporary files are written'),
      setting(
        'logRedactionLevel',
        'as set for all bundles',
        '`none`, `partial` (enterprise edition)',
        'live',
        'effective',
        '`partial`: names of users, mail addresses, keys of documents and distinguished names become salted hashes',
      ),
      setting(
        'logRedactionSalt',
        'a random one for each bundle',
        '1–1000 bytes',
        'live',
        'effective',
        'with `partial` only',
      ),
      setting(
        'auditLog',
        '`false`',
        '`true`, `false`',
        'live',
        'effective',
        'adds the audit log; needs the right to read security settings',
      ),
      setting(
        'bypassReachabilityChecks',
        '`false`',
        '`true`, `false`',
        'live',
        'kept',
        'nothing is uploaded, so nothing is checked',
      ),
      ...['uploadHost', 'uploadProxy', 'customer', 'ticket'].map((name) =>
        setting(name, 'none', 'nothing', 'live', 'fixed', 'bundles are not uploaded'),
      ),
      setting('encryptionPassword', 'none', 'nothing', 'live', 'fixed', 'bundles are not encrypted'),
    ],
  },
  {
    title: 'Redaction of support bundles',
    routes: ['log_redaction.change'],
    settings: [
      setting(
        'logRedactionLevel',
        '`none`',
        '`none`, `partial`',
        'live',
        'effective',
        'enterprise edition only',
      ),
    ],
  },
];
