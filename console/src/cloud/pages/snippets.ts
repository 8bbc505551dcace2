// Programs that connect to a cluster, one for each SDK. Every value is written as a string literal of the language.

export interface Connection {
  readonly connectionString: string;
  readonly username: string;
  readonly bucket: string;
}

export interface Snippet {
  readonly sdk: string;
  readonly install: string;
  readonly code: (connection: Connection) => string;
}

/** The environment variable from which every program takes the password. */
export const passwordVariable = 'DATABASE_PASSWORD';

/** Characters that are invisible, or that change the order of visible ones. */
const hidden = /[\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

/** A literal of JavaScript, Python, Java, Go and C#: all five know the escapes that JSON uses. */
const literal = (text: string): string =>
  JSON.stringify(text).replace(hidden, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const snippets: readonly Snippet[] = [
  {
    sdk: 'Node.js',
    install: 'npm install couchbase',
    code: ({ connectionString, username, bucket }) => `import { connect } from 'couchbase';

const cluster = await connect(${literal(connectionString)}, {
  username: ${literal(username)},
  password: process.env.${passwordVariable},
});
const collection = cluster.bucket(${literal(bucket)}).defaultCollection();
await collection.upsert('greeting', { text: 'Hello' });
console.log((await collection.get('greeting')).content);
await cluster.close();
`,
  },
  {
    sdk: 'Python',
    install: 'pip install couchbase',
    code: ({ connectionString, username, bucket }) => `import os
from datetime import timedelta

from couchbase.auth import PasswordAuthenticator
from couchbase.cluster import Cluster
from couchbase.options import ClusterOptions

account = PasswordAuthenticator(${literal(username)}, os.environ["${passwordVariable}"])
cluster = Cluster(${literal(connectionString)}, ClusterOptions(account))
cluster.wait_until_ready(timedelta(seconds=10))
collection = cluster.bucket(${literal(bucket)}).default_collection()
collection.upsert("greeting", {"text": "Hello"})
print(collection.get("greeting").content_as[dict])
cluster.close()
`,
  },
  {
    sdk: 'Java',
    install: 'com.couchbase.client:java-client',
    code: ({ connectionString, username, bucket }) => `import com.couchbase.client.java.Cluster;
import com.couchbase.client.java.json.JsonObject;
import java.time.Duration;

public class Greeting {
  public static void main(String[] args) {
    Cluster cluster = Cluster.connect(${literal(connectionString)}, ${literal(username)}, System.getenv("${passwordVariable}"));
    var bucket = cluster.bucket(${literal(bucket)});
    bucket.waitUntilReady(Duration.ofSeconds(10));
    var collection = bucket.defaultCollection();
    collection.upsert("greeting", JsonObject.create().put("text", "Hello"));
    System.out.println(collection.get("greeting").contentAsObject());
    cluster.disconnect();
  }
}
`,
  },
  {
    sdk: 'Go',
    install: 'go get github.com/couchbase/gocb/v2',
    code: ({ connectionString, username, bucket }) => `package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/couchbase/gocb/v2"
)

func main() {
	cluster, err := gocb.Connect(${literal(connectionString)}, gocb.ClusterOptions{
		Authenticator: gocb.PasswordAuthenticator{
			Username: ${literal(username)},
			Password: os.Getenv("${passwordVariable}"),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close(nil)
	bucket := cluster.Bucket(${literal(bucket)})
	if err := bucket.WaitUntilReady(10*time.Second, nil); err != nil {
		log.Fatal(err)
	}
	collection := bucket.DefaultCollection()
	if _, err := collection.Upsert("greeting", map[string]string{"text": "Hello"}, nil); err != nil {
		log.Fatal(err)
	}
	found, err := collection.Get("greeting", nil)
	if err != nil {
		log.Fatal(err)
	}
	var greeting map[string]string
	if err := found.Content(&greeting); err != nil {
		log.Fatal(err)
	}
	fmt.Println(greeting)
}
`,
  },
  {
    sdk: '.NET',
    install: 'dotnet add package CouchbaseNetClient',
    code: ({ connectionString, username, bucket }) => `using Couchbase;

var cluster = await Cluster.ConnectAsync(
    ${literal(connectionString)},
    ${literal(username)},
    Environment.GetEnvironmentVariable("${passwordVariable}")!);
var bucket = await cluster.BucketAsync(${literal(bucket)});
var collection = await bucket.DefaultCollectionAsync();
await collection.UpsertAsync("greeting", new { text = "Hello" });
var found = await collection.GetAsync("greeting");
Console.WriteLine(found.ContentAs<dynamic>());
await cluster.DisposeAsync();
`,
  },
];
