import assert from 'node:assert/strict';
import { test } from 'node:test';
import { valueOfJson } from '../request/value-of-json.ts';
import { CurlError, curlLimits, readCall } from './curl-options.ts';

const read = (options: object, address = 'https://h.example/a?b=1') =>
  readCall(address, valueOfJson(JSON.stringify(options)), 'divan/1').request;

test('a request is read from the long and short names of options', () => {
  const plain = read({});
  assert.deepEqual([plain.method, plain.url.href, plain.body], ['GET', 'https://h.example/a?b=1', null]);
  assert.equal(plain.headers['user-agent'], 'divan/1');
  const sent = read({ data: ['x=1', 'y=2'], header: 'Content-Type: application/json', user: 'ann:p:w' });
  assert.deepEqual([sent.method, sent.body], ['POST', 'x=1&y=2']);
  assert.equal(sent.headers['content-type'], 'application/json');
  assert.equal(sent.headers['authorization'], `Basic ${btoa('ann:p:w')}`);
  assert.equal(read({ '-d': '{}' }).headers['content-type'], 'application/x-www-form-urlencoded');
  const inUrl = read({ '--get': true, 'data-urlencode': ['q=a b&c', '=ü', 'z'] });
  assert.deepEqual(
    [inUrl.method, inUrl.url.href, inUrl.body],
    ['GET', 'https://h.example/a?b=1&q=a%20b%26c&%C3%BC&z', null],
  );
  assert.equal(read({ X: 'POST' }).method, 'POST');
  assert.deepEqual(read({ H: ['A: 1', 'b:2'] }).headers['b'], '2');
  const { connectMs, totalMs, bytesMax } = read({ connect_timeout: 2, m: 5, 'result-cap': 1000 });
  assert.deepEqual([connectMs, totalMs, bytesMax], [2_000, 5_000, 1_000]);
  assert.equal(read({ 'max-time': 0 }).totalMs, curlLimits.totalMs);
  assert.equal(readCall('http://h', valueOfJson('{"show-error":false}'), '').isSilent, true);
});

test('a list of data may be long, and ends at the limit of all its texts', () => {
  const list = Array.from({ length: 200_000 }, () => 'x');
  assert.equal(read({ data: list }).body?.length, 399_999);
  assert.equal(read({ 'data-urlencode': list }).body?.length, 399_999);
  const half = 'x'.repeat(curlLimits.dataLength / 2);
  assert.equal(read({ data: [half, half.slice(1)] }).body?.length, curlLimits.dataLength);
  let textsRead = 0;
  const endless = new Proxy([half], {
    get: (target, key) => {
      if (key === 'length') return 1_000;
      if (typeof key === 'symbol') return Reflect.get(target, key) as unknown;
      textsRead++;
      return half;
    },
  });
  for (const name of ['data', 'data-urlencode']) {
    textsRead = 0;
    assert.throws(
      () => readCall('http://h', { [name]: endless }, ''),
      (error: Error) => error instanceof CurlError && error.message.startsWith(`${name}: it must have at`),
    );
    assert.equal(textsRead, 2);
  }
});

test('each refusal names the option and says what would be right', () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ proxy: 'http://p' }, /^option proxy: it is not supported/],
    [{ constructor: 1 }, /^option constructor: it is not supported/],
    [{ cacert: 'a.pem' }, /^option cacert/],
    [{ request: 'DELETE' }, /^request: it must be "GET" or "POST"/],
    [{ request: 5 }, /^request: it must be a string/],
    [{ get: 'yes' }, /^get: it must be true or false/],
    [{ data: 5 }, /^data: it must be a string or a list/],
    [{ data: 'x'.repeat(curlLimits.dataLength + 1) }, /^data: it must have at most/],
    [{ get: true, data: 'x'.repeat(curlLimits.urlLength) }, /^url: it must have at most/],
    [{ header: 'no colon' }, /^header: a header has the form/],
    [{ header: 'A: b\r\nC: d' }, /^header: the name or the value/],
    [{ header: 'A b: c' }, /^header: the name or the value/],
    [{ header: 'Host: other' }, /^header: the header host cannot be set/],
    [{ header: 'Transfer-Encoding: chunked' }, /^header: the header transfer-encoding/],
    [{ header: Array.from({ length: 101 }, (_, at) => `h${at}: 1`) }, /^header: there may be at most 100/],
    [{ header: `a: ${'x'.repeat(9_000)}` }, /^header: a header must have at most/],
    [{ 'user-agent': 'a\nb: c' }, /^user-agent: the name or the value/],
    [{ user: 'ann' }, /^user: it must be "user:password"/],
    [{ insecure: true }, /^insecure: certificates are always verified/],
    [{ basic: false }, /^basic: there is no other/],
    [{ 'max-time': 601 }, /^max-time: it must be a whole number from 0 to 600/],
    [{ 'max-time': -1 }, /^max-time: it must be/],
    [{ 'connect-timeout': 0.5 }, /^connect-timeout: it must be/],
    [{ 'result-cap': 1e9 }, /^result-cap: it must be a whole number from 1 to 20971520/],
  ];
  for (const [options, text] of wrong)
    assert.throws(
      () => read(options),
      (error: Error) => error instanceof CurlError && text.test(error.message),
      JSON.stringify(options).slice(0, 80),
    );
  for (const address of ['ftp://h', 'file:///etc/passwd', 'gopher://h', 'h.example', '//h', '', 'http://'])
    assert.throws(() => read({}, address), /url: it must be an http or https address/, address);
  assert.throws(() => read({}, 'http://a:b@h'), /url: name and password belong in the option user/);
  assert.throws(() => read({}, `http://h/${'x'.repeat(9_000)}`), /url: it must have at most 8192/);
});
