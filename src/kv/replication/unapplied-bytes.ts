// Bytes of batches that this node received and did not apply, by sender: the sender limits the bytes that are not confirmed, so these must be confirmed too.
export class UnappliedBytes {
  private readonly byNode = new Map<string, number>();

  add(node: string, bytes: number): void {
    if (bytes > 0) this.byNode.set(node, (this.byNode.get(node) ?? 0) + bytes);
  }

  /** What was added for the node since the last call. */
  drain(node: string): number {
    const bytes = this.byNode.get(node) ?? 0;
    this.byNode.delete(node);
    return bytes;
  }
}
