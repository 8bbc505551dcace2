// The handler of each declared command.
import * as bucket from '#wire/commands/bucket.ts';
import * as documents from '#wire/commands/documents.ts';
import * as session from '#wire/commands/session.ts';
import * as stream from '#wire/commands/stream.ts';
import * as subdocument from '#wire/commands/subdocument.ts';
import type { Command } from '#wire/define-command.ts';
import type { Handler } from '../dispatch/request.ts';
import { getClusterConfig } from './cluster-config.ts';
import { getCollectionId, getManifest, getScopeId } from './collection-ids.ts';
import { append, prepend } from './concat.ts';
import { decrement, increment } from './counter.ts';
import { evictKey } from './evict-key.ts';
import { getAndTouch, touch } from './expiry.ts';
import { get, getReplica, getWithKey } from './get.ts';
import { getKeys } from './get-keys.ts';
import { getMeta } from './get-meta.ts';
import { getRandomKey } from './get-random-key.ts';
import { hello } from './hello.ts';
import { getAndLock, unlock } from './locks.ts';
import { observe, observeSeqno } from './observe.ts';
import { cancelScan, continueScan, createScan } from './range-scan.ts';
import { remove } from './remove.ts';
import { saslAuth, saslListMechanisms, saslStep } from './sasl.ts';
import { selectBucket } from './select-bucket.ts';
import { getAllVbSeqnos, getFailoverLog, getVbucket, seqnoPersistence } from './seqnos.ts';
import { getErrorMap, listBuckets, noop, quit, quitQuietly, verbosity, version } from './session-basics.ts';
import { stat } from './stat.ts';
import { add, replace, set } from './store.ts';
import {
  acknowledgeBuffer,
  closeStream,
  controlStreams,
  getStreamFailoverLog,
  noopOfClient,
  openStreams,
  requestStream,
} from './streams.ts';
import { multiLookup, singleLookup } from './subdoc-lookup.ts';
import { multiMutation, singleMutation } from './subdoc-mutation.ts';
import { addWithMeta, deleteWithMeta, setWithMeta } from './with-meta.ts';

export const handlers: ReadonlyMap<Command, Handler> = new Map<Command, Handler>([
  [session.Hello, hello],
  [session.SaslListMechanisms, saslListMechanisms],
  [session.SaslAuth, saslAuth],
  [session.SaslStep, saslStep],
  [session.SelectBucket, selectBucket],
  [session.GetClusterConfig, getClusterConfig],
  [session.GetErrorMap, getErrorMap],
  [session.Noop, noop],
  [session.Version, version],
  [session.Quit, quit],
  [session.QuitQuietly, quitQuietly],
  [session.Verbosity, verbosity],
  [session.ListBuckets, listBuckets],
  [bucket.Stat, stat],
  [bucket.GetManifest, getManifest],
  [bucket.GetCollectionId, getCollectionId],
  [bucket.GetScopeId, getScopeId],
  [bucket.GetFailoverLog, getFailoverLog],
  [bucket.GetAllVbSeqnos, getAllVbSeqnos],
  [bucket.SeqnoPersistence, seqnoPersistence],
  [bucket.ObserveSeqno, observeSeqno],
  [bucket.Observe, observe],
  [bucket.GetVbucket, getVbucket],
  [bucket.GetKeys, getKeys],
  [bucket.EvictKey, evictKey],
  [bucket.GetRandomKey, getRandomKey],
  [bucket.RangeScanCreate, createScan],
  [bucket.RangeScanContinue, continueScan],
  [bucket.RangeScanCancel, cancelScan],
  [stream.DcpOpen, openStreams],
  [stream.DcpControl, controlStreams],
  [stream.DcpStreamRequest, requestStream],
  [stream.DcpCloseStream, closeStream],
  [stream.DcpGetFailoverLog, getStreamFailoverLog],
  [stream.DcpNoop, noopOfClient],
  [stream.DcpBufferAck, acknowledgeBuffer],
  [documents.Get, get],
  [documents.GetQuietly, get],
  [documents.GetWithKey, getWithKey],
  [documents.GetWithKeyQuietly, getWithKey],
  [documents.GetReplica, getReplica],
  [documents.GetAndTouch, getAndTouch],
  [documents.GetAndTouchQuietly, getAndTouch],
  [documents.GetAndLock, getAndLock],
  [documents.Unlock, unlock],
  [documents.GetMeta, getMeta],
  [documents.GetMetaQuietly, getMeta],
  [documents.SetWithMeta, setWithMeta],
  [documents.SetWithMetaQuietly, setWithMeta],
  [documents.AddWithMeta, addWithMeta],
  [documents.AddWithMetaQuietly, addWithMeta],
  [documents.DeleteWithMeta, deleteWithMeta],
  [documents.DeleteWithMetaQuietly, deleteWithMeta],
  [documents.SetDocument, set],
  [documents.SetQuietly, set],
  [documents.Add, add],
  [documents.AddQuietly, add],
  [documents.Replace, replace],
  [documents.ReplaceQuietly, replace],
  [documents.Delete, remove],
  [documents.DeleteQuietly, remove],
  [documents.Increment, increment],
  [documents.IncrementQuietly, increment],
  [documents.Decrement, decrement],
  [documents.DecrementQuietly, decrement],
  [documents.Append, append],
  [documents.AppendQuietly, append],
  [documents.Prepend, prepend],
  [documents.PrependQuietly, prepend],
  [documents.Touch, touch],
  [subdocument.SubdocGet, singleLookup],
  [subdocument.SubdocExists, singleLookup],
  [subdocument.SubdocGetCount, singleLookup],
  [subdocument.SubdocDictAdd, singleMutation],
  [subdocument.SubdocDictUpsert, singleMutation],
  [subdocument.SubdocDelete, singleMutation],
  [subdocument.SubdocReplace, singleMutation],
  [subdocument.SubdocPushLast, singleMutation],
  [subdocument.SubdocPushFirst, singleMutation],
  [subdocument.SubdocArrayInsert, singleMutation],
  [subdocument.SubdocAddUnique, singleMutation],
  [subdocument.SubdocCounter, singleMutation],
  [subdocument.SubdocReplaceBody, singleMutation],
  [subdocument.SubdocMultiLookup, multiLookup],
  [subdocument.SubdocMultiMutation, multiMutation],
]);
