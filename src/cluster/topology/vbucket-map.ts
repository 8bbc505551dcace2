// Which node holds which vbucket. With one node there is one answer.

export const vbucketCount = 1024;

/** One row per vbucket: active first, then as many replicas as asked for; -1 where no node can take one. */
export function singleNodeMap(replicas: number): number[][] {
  return Array.from({ length: vbucketCount }, () => [0, ...Array<number>(replicas).fill(-1)]);
}
