// The states of a vbucket on a node, with their numbers on the wire.

export const VbucketState = { active: 1, replica: 2, pending: 3, dead: 4 } as const;
export type VbucketState = (typeof VbucketState)[keyof typeof VbucketState];

export type VbucketStateName = keyof typeof VbucketState;

const names = Object.keys(VbucketState) as VbucketStateName[];

export const stateName = (state: VbucketState): VbucketStateName => names[state - 1] as VbucketStateName;
