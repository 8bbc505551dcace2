// Calls of published tools for features that this version does not have. Each is refused with its reason, to distinguish it from a
// misspelled path. Adding such a feature removes its lines here.
import { defineRoute, type Method } from '#contract/route.ts';

interface Family {
  readonly id: string;
  readonly reason: string;
  readonly calls: readonly (readonly [method: Method, path: string, permission: string])[];
}

const read = 'cluster.settings!read';
const write = 'cluster.settings!write';

const families: readonly Family[] = [
  {
    id: 'analytics_settings',
    reason: 'The analytics service is not available in this version.',
    calls: [
      ['GET', '/settings/analytics', read],
      ['POST', '/settings/analytics', write],
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

export const absentCalls = families.flatMap(({ id, reason, calls }) =>
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
