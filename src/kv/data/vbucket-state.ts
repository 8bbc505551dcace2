// The states of a vbucket on a node, with their numbers on the wire.

export const VbucketState = { active: 1, replica: 2, pending: 3, dead: 4 } as const;
export type VbucketState = (typeof VbucketState)[keyof typeof VbucketState];

/** `filling`: a copy still receives the changes that its active had when the copy connected; `following`: it has them all. */
export const CopyPhase = { following: 0, filling: 1 } as const;
export type CopyPhase = (typeof CopyPhase)[keyof typeof CopyPhase];

export type VbucketStateName = keyof typeof VbucketState;

const names = Object.keys(VbucketState) as VbucketStateName[];

export const stateName = (state: VbucketState): VbucketStateName => names[state - 1] as VbucketStateName;
