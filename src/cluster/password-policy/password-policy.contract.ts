// Routes of the policy for new passwords.
import type { PasswordPolicy } from '#auth/identity-rules.ts';
import { field, form } from '#contract/fields.ts';
import { defineRoute } from '#contract/route.ts';
import { passwordPolicyShape } from '../settings/settings.shapes.ts';

const enforced = field.boolean().default(false);

export const GetPasswordPolicy = defineRoute({
  id: 'password_policy.read',
  method: 'GET',
  path: '/settings/passwordPolicy',
  access: { kind: 'permission', permission: 'cluster.admin.security!read' },
  answer: { json: passwordPolicyShape },
  doc: 'The rules for new passwords.',
});

export const SetPasswordPolicy = defineRoute({
  id: 'password_policy.set',
  method: 'POST',
  path: '/settings/passwordPolicy',
  access: {
    kind: 'roles',
    roles: ['admin', 'security_admin_local', 'security_admin_external'],
    permission: 'cluster.admin.security!write',
  },
  bodyKind: 'form',
  body: form({
    minLength: field.integer(0, 100),
    enforceUppercase: enforced,
    enforceLowercase: enforced,
    enforceDigits: enforced,
    enforceSpecialChars: enforced,
  }),
  acceptsJustValidate: true,
  doc: 'Changes the rules for new passwords; existing ones stay valid.',
});

export const policyRecord = (policy: PasswordPolicy): PasswordPolicy => ({
  minLength: policy.minLength,
  enforceUppercase: policy.enforceUppercase,
  enforceLowercase: policy.enforceLowercase,
  enforceDigits: policy.enforceDigits,
  enforceSpecialChars: policy.enforceSpecialChars,
});
