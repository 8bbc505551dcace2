// Bytes of batches that a node received and did not apply, by sender: the sender sends only as much as is confirmed, so it must be informed.
export class UnappliedBytes {
  private readonly byNode = new Map<string, number>();

  add(node: string, bytes: number): void {
    if (bytes > 0) this.byNode.set(node, (this.byNode.get(node) ?? 0) + bytes);
  }

  /** What was added for the node since the last call. */
  take(node: string): number {
    const bytes = this.byNode.get(node) ?? 0;
    this.byNode.delete(node);
    return bytes;
  }
}
