// Routes of features that this version does not have, though published tools call them. The node refuses each call with the reason,
// so that the client can distinguish it from a misspelled path. A commit that adds such a feature removes its entry here.
import { defineRoute, type Method } from '#contract/route.ts';

interface AbsentFeature {
  readonly id: string;
  readonly reason: string;
  readonly calls: readonly (readonly [method: Method, path: string, permission: string])[];
}

const settingsRead = 'cluster.settings!read';
const settingsWrite = 'cluster.settings!write';

const absentFeatures: readonly AbsentFeature[] = [
  {
    id: 'analytics_settings',
    reason: 'The analytics service is not available in this version.',
    calls: [
      ['GET', '/settings/analytics', settingsRead],
      ['POST', '/settings/analytics', settingsWrite],
    ],
  },
  {
    id: 'saslauthd',
    reason:
      'Logins through saslauthd are not available in this version; external users log in through LDAP (/settings/ldap).',
    calls: [
      ['GET', '/settings/saslauthdAuth', 'cluster.admin.security!read'],
      ['POST', '/settings/saslauthdAuth', 'cluster.admin.security.external!write'],
    ],
  },
];

export const absentCalls = absentFeatures.flatMap(({ id, reason, calls }) =>
  calls.map(([method, path, permission], index) => ({
    reason,
    route: defineRoute({
      id: `absent.${id}_${index + 1}`,
      method,
      path,
      access: { kind: 'permission', permission },
      answer: { status: 501, text: 'text/plain' },
      doc: `Refused with 501: ${reason}`,
    }),
  })),
);
