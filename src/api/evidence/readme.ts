// The text that explains a pack to somebody who has nothing but the file.

export const README = `What is this?

Everything that matoolkit knows about one batch (a wave of people who are migrated together), written down at one moment and signed.
manifest.json says which batch, when and who, and names every file with its SHA-256.

Verify it with matoolkit, without a network or a database:

  matoolkit evidence verify FILE.tar.gz --fingerprint FINGERPRINT

Or without matoolkit, in the folder with this file (OpenSSL 3):

  openssl pkeyutl -verify -pubin -inkey public-key.pem -rawin -in manifest.json -sigfile manifest.sig
  openssl pkey -pubin -in public-key.pem -outform DER | sha256sum
  sha256sum --check SHA256SUMS
  sha256sum SHA256SUMS

The first command checks the signature, the second prints the fingerprint of the key: compare it with the one that the operators of
matoolkit gave you on another way. A pack that someone else has signed is intact too. The third compares every file with SHA256SUMS, the
fourth prints the hash of that list: manifest.json must name the same.

Files

  batch.json         the batch: times, status, counters
  runbooks/          the text of each version of the runbook that the batch has used
  runbooks.json      those versions: who published them and when, and the SHA-256 of each text
  overrides.json     functions that a worker of the batch runs instead of the built-in ones of the same name, as announced last
  rehearsal.json     the last rehearsal of this runbook, if one is kept
  members/           one line per person
  phases/ steps/ attempts/
                     what was due, what was done, every try with its result, what it changed and how to take
                     that back
  events/            every decision with its reason
  approvals/         who let a phase begin, or waived a condition, and why
  member-messages/   which message each person got, and the start that it told
  holds/ reviews/ bulk-actions/ bulk-action-members/ source-times/
                     holds in force, source changes that wait for a person, changes of many people, times in the data source
  conditions/ messages/
                     what operators were told, through which channel, and whether it arrived
  audit/             who asked for what: every row from the creation of the batch on. Rows about other batches are among them, because
                     the hash of each row covers the row before it. The last hash can be compared with a head that was kept elsewhere
                     (matoolkit audit verify).

Files that end with .jsonl have one JSON value per line; a long table has several files. Times are UTC. Values that look like secrets are
replaced by "[redacted]", except in runbooks and audit, which hold none and whose hashes would break.
`
