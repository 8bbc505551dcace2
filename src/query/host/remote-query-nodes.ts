// The query services of other nodes, asked through the main thread.
import type {
  OtherQueryNodes,
  PreparedText,
  ReplacingStatement,
  RowsOfNodes,
  RowsPage,
} from '../query.contract.ts';
import { PendingCalls } from './pending-calls.ts';
import type { QueryHostOptions } from './query-host-options.ts';
import type { NodesOutcome, NodesQuestion } from './query-messages.ts';

export class RemoteQueryNodes implements OtherQueryNodes {
  private readonly calls: PendingCalls<NodesQuestion, NodesOutcome>;

  constructor(sendMessage: QueryHostOptions['sendMessage']) {
    this.calls = new PendingCalls((callId, question) => sendMessage({ kind: 'ask nodes', callId, question }));
  }

  answer(callId: number, outcome: NodesOutcome): void {
    this.calls.answer(callId, outcome);
  }

  async rows(keyspace: string): Promise<RowsOfNodes> {
    return (await this.ask({ kind: 'rows', keyspace })) as RowsOfNodes;
  }

  async rowsAfter(keyspace: string, node: string, after: string): Promise<RowsPage> {
    return (await this.ask({ kind: 'rows after', keyspace, node, after })) as RowsPage;
  }

  async prepared(name: string, queryContext: string): Promise<PreparedText | null> {
    const outcome = (await this.ask({ kind: 'prepared', name, queryContext })) as {
      prepared: PreparedText | null;
    };
    return outcome.prepared;
  }

  async discardPrepared(replaced: ReplacingStatement): Promise<void> {
    await this.ask({ kind: 'discard prepared', replaced });
  }

  async remove(keyspace: string, node: string, ids: readonly string[]): Promise<void> {
    await this.ask({ kind: 'remove', keyspace, node, ids });
  }

  private async ask(question: NodesQuestion): Promise<Exclude<NodesOutcome, { refused: string }>> {
    const outcome = await this.calls.request(question);
    if (typeof outcome === 'object' && 'refused' in outcome) throw new Error(outcome.refused);
    return outcome;
  }
}
