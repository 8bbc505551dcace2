// Maps requests about the password policy to the setting that holds it.
import { defaultPasswordPolicy, type PasswordPolicy } from '#auth/identity-rules.ts';
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import { WatchedSetting } from '../config/watched-setting.ts';
import * as contract from './password-policy.contract.ts';

export type PolicySetting = WatchedSetting<PasswordPolicy>;

export const passwordPolicySetting = (store: ConfigStore): PolicySetting =>
  new WatchedSetting(store, 'passwordPolicy', defaultPasswordPolicy);

export const passwordPolicyRoutes = (setting: PolicySetting): BoundRoute[] => [
  bind(contract.GetPasswordPolicy, () => reply.json(contract.policyRecord(setting.value))),
  bind(contract.SetPasswordPolicy, async ({ body, justValidate }) => {
    const policy = contract.policyRecord(body);
    if (!justValidate) await setting.change((before) => ({ ...before, ...policy }));
    return reply.empty();
  }),
];
