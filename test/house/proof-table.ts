// Which test proves what the documents promise: an attack that fails, a sabotage that loses nothing. proofs.test.ts finds a test or a
// chaos mode that is gone.

export interface Proof {
  readonly what: string
  /** Of npm run chaos. */
  readonly modes?: readonly string[]
  /** The file, and words of the test's name as they stand there. */
  readonly tests: readonly (readonly [file: string, title: string])[]
}

/** Who might attack, and what stands in the way: docs/security.md. */
export const ATTACKS: readonly Proof[] = [
  {
    what: 'another user reads or changes the embedded database',
    tests: [
      [
        'test/base/files/private-files.test.ts',
        'of the embedded database has no file for others, and is not opened when it is wider',
      ],
      [
        'test/proof/processes/serve.test.ts',
        'runs all roles in the current folder, and finds its data again',
      ],
    ],
  },
  {
    what: 'a recording of a tenant names people, or changes the tenant',
    tests: [
      [
        'test/app/commands/tenant-check-recording.test.ts',
        'writes what the tenant answered for its owner alone, and names nobody',
      ],
      ['test/app/commands/tenant-check-recording.test.ts', 'asks only by reading'],
      ['test/m365/check/pseudonyms.test.ts', 'leave no name in a sentence, and its meaning in it'],
    ],
  },
  {
    what: 'a folder that is wider or belongs to somebody else',
    tests: [
      ['test/proof/processes/instances.test.ts', 'before anything starts'],
      [
        'test/base/files/private-files.test.ts',
        'is refused if it belongs to somebody else, even when it is empty',
      ],
    ],
  },
  {
    what: 'a link planted where a note, a token, a secret or a report is written',
    tests: [
      [
        'test/base/files/private-files.test.ts',
        'replaces a planted link and leaves its target alone',
      ],
      [
        'test/cli/commands/batch/report.test.ts',
        'never writes through a planted link, and has no predictable draft',
      ],
    ],
  },
  {
    what: 'another user reads stored secrets or job keys',
    tests: [
      ['test/worker/secrets.test.ts', 'stores no plain text and allows only its owner'],
      ['test/base/keys/job-keys.test.ts', 'are created once, for their owner only'],
    ],
  },
  {
    what: 'plain SQL erases or truncates audit rows',
    tests: [
      [
        'test/db/orders/audit-pruning.test.ts',
        'deletes nothing for a switch or a pruning that is not sealed, and is never truncated',
      ],
    ],
  },
  {
    what: 'a small evidence pack unpacks to more than the memory',
    tests: [
      [
        'test/api/evidence/verify-pack.test.ts',
        'needs little memory, however much a small file of it unpacks to',
      ],
    ],
  },
  {
    what: 'a link with a foreign token signs an operator out',
    tests: [
      [
        'test/proof/dashboard/sign-in.test.ts',
        'stays signed in when somebody follows a link with the token of nobody',
      ],
    ],
  },
  {
    what: 'a text on which a regular expression runs for minutes',
    tests: [
      [
        'test/proof/fuzz/regular-expressions.test.ts',
        'takes time that grows with the text, not with its square',
      ],
      [
        'test/domain/member-messages/shown-html.test.ts',
        'ends soon for a text of nothing but beginnings of tags',
      ],
      ['test/app/rehearsal/rehearsal.test.ts', 'is found at once in a name of many parts'],
    ],
  },
  {
    what: 'somebody prunes what no setting allows',
    tests: [
      [
        'test/db/orders/audit-pruning.test.ts',
        'says what is gone when somebody pruned what no setting allows, and passes no head',
      ],
    ],
  },
  {
    what: 'a known head lies inside the pruned rows',
    tests: [
      [
        'test/db/orders/audit-pruning.test.ts',
        'passes no head inside the pruned rows, and the one at their end',
      ],
    ],
  },
  {
    what: 'the newest audit rows are cut off',
    tests: [
      [
        'test/cli/commands/audit.test.ts',
        'reports rows that an earlier check saw and that are gone',
      ],
      [
        'test/api/services/audit-heads.test.ts',
        'are appended to a file for its owner only, and wait while it cannot be written',
      ],
    ],
  },
  {
    what: 'forged, changed or unsigned jobs',
    tests: [
      ['test/stories/signed-jobs.test.ts', 'nothing is called and no secret is read'],
      ['test/base/keys/job-keys.test.ts', 'is refused after any change of one character'],
    ],
  },
  {
    what: 'a job of before a restore is passed off as one of after it, or the other way round',
    tests: [
      ['test/stories/signed-jobs.test.ts', 'refuses a job of a restored database with the epoch'],
      [
        'test/stories/restore.test.ts',
        'books no result of the lost time, holds everything, and ends with what the tenant holds',
      ],
    ],
  },
  {
    what: 'a job reads a secret that nobody named',
    tests: [
      [
        'test/stories/signed-jobs.test.ts',
        'reads only the secrets that the signed parameters name',
      ],
    ],
  },
  {
    what: 'an old signed job is copied',
    tests: [
      [
        'test/stories/signed-jobs.test.ts',
        'does not start a copy of an old signed job after its limit',
      ],
    ],
  },
  {
    what: 'a process without rights on the schema',
    tests: [
      [
        'test/proof/processes/schema.test.ts',
        'is upgraded by every process of the owner but one that is only a worker',
      ],
      [
        'test/proof/processes/schema.test.ts',
        'is waited for by a role that does not own the tables, until it is asked to stop',
      ],
    ],
  },
  {
    what: "the application's database role changes tables, triggers or what has happened",
    tests: [
      ['test/proof/processes/database-roles.test.ts', 'the application cannot '],
      [
        'test/proof/processes/database-roles.test.ts',
        'the application seals and prunes the audit, and deletes nothing else from it',
      ],
    ],
  },
  {
    what: "a worker's database role reads or changes what is not its own",
    tests: [
      [
        'test/proof/processes/database-roles.test.ts',
        'neither sees, takes nor removes jobs of another',
      ],
      [
        'test/proof/processes/database-roles.test.ts',
        'completes with an application and a worker that have no more than their rights',
      ],
    ],
  },
  {
    what: "a worker's message affects anything but its own jobs: another's step, a phase, an epoch, a hold",
    tests: [
      ['test/orchestrator/worker-messages.test.ts', 'whose '],
      ['test/orchestrator/worker-messages.test.ts', 'does nothing: '],
      [
        'test/orchestrator/worker-messages.test.ts',
        'an announcement that cannot be stored leaves the results next to it alone',
      ],
    ],
  },
  {
    what: 'a worker sends what nobody can read, and the results of all others wait behind it',
    tests: [
      ['test/bus/role-rights-hostile.test.ts', 'sends no bundle with '],
      ['test/bus/role-rights-hostile.test.ts', 'gives up no job with '],
      ['test/bus/role-rights-hostile.test.ts', 'leases no job with '],
      ['test/bus/role-rights-hostile.test.ts', 'dates nothing '],
      [
        'test/bus/role-rights-hostile.test.ts',
        'is not awaited forever because a row under its id is hidden',
      ],
      ['test/bus/servicebus/wire-hostile.test.ts', 'is received and given up'],
    ],
  },
  {
    what: 'somebody makes up a restore',
    tests: [
      [
        'test/engine/orders/restores.test.ts',
        'does not follow from an answer that names an epoch which the database never began',
      ],
    ],
  },
  {
    what: 'a worker answers for another, or sends events',
    tests: [
      [
        'test/proof/processes/database-roles.test.ts',
        'a worker gives up its own job, and cannot settle that of another',
      ],
    ],
  },
  {
    what: "the application's role needs more rights after a restore, or skips numbers at will",
    tests: [
      [
        'test/engine/orders/restores.test.ts',
        'the application begins an epoch, sends again under new numbers, and skips none otherwise',
      ],
    ],
  },
  {
    what: 'a database role becomes owner, by a temporary table that stands in for one of ours, or by a function or right that is open to PUBLIC',
    tests: [
      [
        'test/app/upkeep/database-rights.test.ts',
        'runs nothing as owner by a temporary table with a trigger',
      ],
      [
        'test/app/upkeep/database-rights.test.ts',
        'reads no temporary table of its caller when it has the rights of its owner, or decides for a trigger',
      ],
      [
        'test/app/upkeep/database-rights.test.ts',
        'has no right on any function, table, column or sequence, and creates nothing',
      ],
      ['test/app/upkeep/database-rights.test.ts', 'executes its functions and no other'],
    ],
  },
  {
    what: 'somebody who may delete audit rows makes up the pruning that allows it',
    tests: [
      [
        'test/app/upkeep/database-rights.test.ts',
        'deletes no audit row by a pruning that stands in a temporary table',
      ],
    ],
  },
  {
    what: "a worker's database role keeps a hold waiting",
    tests: [
      ['test/engine/orders/hold-locks.test.ts', 'is set while a worker keeps locked: '],
      [
        'test/engine/orders/hold-locks.test.ts',
        'is not kept waiting by a table that a worker may lock',
      ],
    ],
  },
  {
    what: 'a database role has more than it needs',
    tests: [
      ['test/proof/processes/database-roles.test.ts', 'are found with more or less than they need'],
      [
        'test/proof/processes/database-roles.test.ts',
        'have exactly their rights, also after setting them up again',
      ],
      [
        'test/proof/processes/database-roles.test.ts',
        'sets up roles that processes then run with, renews them, and takes them away',
      ],
    ],
  },
  {
    what: 'the local token survives its process',
    tests: [
      [
        'test/proof/processes/serve.test.ts',
        'share its token until the last one ends; a third on a taken port leaves it alone',
      ],
      [
        'test/api/sign-in/local.test.ts',
        'replaces what a crash or somebody else has left in the file',
      ],
    ],
  },
  {
    what: 'a program takes the port of an API',
    tests: [
      [
        'test/cli/connection/client-squatter.test.ts',
        'gets no token of a note that leads to it, and nothing else',
      ],
      [
        'test/cli/connection/client-squatter.test.ts',
        'gets no token by passing the question on to the API that has it',
      ],
    ],
  },
  {
    what: 'a text in the data makes an assistant change something',
    tests: [
      [
        'test/proof/processes/assistant-example.test.ts',
        'the example of tools for an assistant answers what an operator asks, and changes nothing',
      ],
    ],
  },
  {
    what: 'a token over plain http to another machine',
    tests: [
      [
        'test/cli/connection/client-squatter.test.ts',
        'on another machine gets no token over plain http',
      ],
    ],
  },
  {
    what: 'a web page points its name at this machine',
    tests: [
      ['test/api/sign-in/local.test.ts', 'answers only to local host names (DNS rebinding)'],
      [
        'test/sandbox/control.test.ts',
        'is refused, whatever it asks for: a web page may point a name at this machine',
      ],
    ],
  },
  {
    what: 'bad tokens lock everybody out',
    tests: [
      [
        'test/api/sign-in/sign-in.test.ts',
        'refused too often are limited, and good ones from the same address still sign in',
      ],
    ],
  },
  {
    what: 'refusals by scope, application or role',
    tests: [
      [
        'test/api/sign-in/sign-in.test.ts',
        'without our scope or of an unlisted application are audited',
      ],
      ['test/api/sign-in/sign-in.test.ts', 'limits how often a signed-in caller is refused'],
    ],
  },
  {
    what: 'client credentials of another issuer bypass the list of applications',
    tests: [
      [
        'test/api/sign-in/sign-in.test.ts',
        'of an application elsewhere need the list, whatever scope and subject they carry',
      ],
    ],
  },
  {
    what: 'ragged, blank or repeated rows in a member file',
    tests: [
      ['test/api/http/server-exhaustion.test.ts', 'is refused, and others are answered meanwhile'],
      [
        'test/base/files/csv.test.ts',
        'costs the same per row, whether its rows fit the header or not',
      ],
    ],
  },
  {
    what: 'the caller of a large upload is gone',
    tests: [
      ['test/api/http/server-exhaustion.test.ts', 'is not worked on when its caller is gone'],
    ],
  },
  {
    what: 'a plan or a preview grows without limit',
    tests: [
      [
        'test/api/http/server-exhaustion.test.ts',
        'as a plan with a long value in many templates gets examples with cut values',
      ],
      [
        'test/api/http/server-exhaustion.test.ts',
        'as a preview of long cells gets a sample with cut cells',
      ],
    ],
  },
  {
    what: 'a `Reader` keeps a hold waiting',
    tests: [
      ['test/api/http/read-lane.test.ts', ' connections at most ('],
      [
        'test/api/http/read-lane.test.ts',
        'is not followed by a statement of a read before it is answered',
      ],
      ['test/api/http/read-lane.test.ts', 'are read in the thread only'],
      ['test/api/services/runbook-reader.test.ts', 'leaves this thread free while it reads'],
      ['test/proof/operators/hold-under-load.test.ts', 'is answered in time under '],
    ],
  },
  {
    what: 'a worker on Azure reads the secrets of another one',
    tests: [
      [
        'test/house/infra.test.ts',
        'lets a worker read no secrets but the job key and those of its own vault',
      ],
    ],
  },
  {
    what: 'a `HelpDesk` lists everybody by counting ids, or by guessing addresses',
    tests: [
      [
        'test/api/sign-in/sign-in.test.ts',
        'lets the help desk read nobody by number, with the reference of somebody else or of another caller',
      ],
      [
        'test/api/sign-in/sign-in.test.ts',
        'limits the look-ups of the help desk, and nobody else’s',
      ],
    ],
  },
  {
    what: 'a runbook that keeps the parser busy or takes all memory',
    tests: [
      [
        'test/api/services/runbook-reader.test.ts',
        'gives a text up after its time, and reads the next',
      ],
      [
        'test/api/services/runbook-reader.test.ts',
        'gives a text up that takes too much memory, and reads the next',
      ],
    ],
  },
  {
    what: 'a receiver, an issuer or a token endpoint answers without an end',
    tests: [
      ['test/base/run/read-answer.test.ts', 'is refused by the reader, which leaves'],
      ['test/base/run/read-answer.test.ts', 'of a webhook is a failed delivery with its beginning'],
      ['test/base/run/read-answer.test.ts', 'is refused in the name of a library'],
    ],
  },
  {
    what: '1,000 idle connections',
    tests: [
      ['test/api/http/connections.test.ts', 'keep nobody out'],
      [
        'test/app/roles/health.test.ts',
        'answer although somebody keeps hundreds of connections open',
      ],
    ],
  },
  {
    what: 'a Reader opens connections and never reads the answers',
    tests: [
      [
        'test/api/http/connections.test.ts',
        'leaves no caller most of the places: their own oldest ends, idle ones first, then those never read',
      ],
    ],
  },
  {
    what: 'one Reader takes all streams, or keeps one after its token',
    tests: [
      [
        'test/api/events/event-feed.test.ts',
        'one caller may have 20 streams and leaves the rest to others',
      ],
      ['test/api/events/event-feed.test.ts', 'a stream ends with the token of its caller'],
    ],
  },
  {
    what: '200,000 faults in JSON',
    tests: [['test/api/http/server-exhaustion.test.ts', 'is refused, and briefly']],
  },
  {
    what: 'secrets in results and errors, in any form, cut or overlapping',
    tests: [
      ['test/worker/jobs/job-run.test.ts', 'stay hidden in a result and an error'],
      [
        'test/worker/jobs/job-run.test.ts',
        'stay hidden whatever overlaps, is cut, is a number or is one line of several',
      ],
    ],
  },
  {
    what: 'databases that quote data in errors',
    tests: [
      [
        'test/base/log/log.test.ts',
        'is our own sentence as it is, and any other without addresses and quoted data',
      ],
      [
        'test/scheduler/sources/postgres.test.ts',
        'does not quote the value that the server refused',
      ],
      ['test/scheduler/sources/databricks.test.ts', 'does not quote the value that a cast refused'],
    ],
  },
  {
    what: 'crashes and forgotten promises',
    tests: [
      [
        'test/proof/processes/serve.test.ts',
        'redacts what a crash says, also before a command has begun',
      ],
      [
        'test/proof/processes/serve.test.ts',
        'fails the job that left a promise behind, not the worker; ends in order on an exception',
      ],
    ],
  },
  {
    what: 'a `warehouse_id` that is something else',
    tests: [
      [
        'test/scheduler/sources/databricks.test.ts',
        'neither sends nor shows a warehouse id that does not look like one',
      ],
    ],
  },
  {
    what: 'escape sequences and marks of direction',
    tests: [
      [
        'test/base/log/log.test.ts',
        'shows escape sequences and marks of direction instead of obeying them',
      ],
      [
        'test/cli/sign-in/issuer-hostile.test.ts',
        'shows its page and code as text at auth login, and its refusal too',
      ],
      [
        'test/cli/sign-in/issuer-hostile.test.ts',
        'is printable with --debug, in what is sent and in what comes back',
      ],
      ['test/cli/terminal/output.test.ts', 'shows no control characters from names'],
    ],
  },
  {
    what: 'formulas in CSV',
    tests: [
      [
        'test/base/files/csv.test.ts',
        'disarms a formula behind blanks, marks and separators, and in full width',
      ],
      [
        'test/cli/commands/batch/report.test.ts',
        'is a table of members that no spreadsheet executes',
      ],
    ],
  },
  {
    what: "the sandbox's control endpoints",
    tests: [
      [
        'test/sandbox/control.test.ts',
        'need the token of this start, and change nothing without it',
      ],
      [
        'test/app/sandbox/sandbox.test.ts',
        'keeps the token of its control endpoints in a private file while it runs',
      ],
    ],
  },
  {
    what: 'variables that hide built-in ones or the key',
    tests: [
      [
        'test/api/contract/actions.test.ts',
        'set no variable that hides a built-in one, names a secret, or is the key',
      ],
    ],
  },
  {
    what: 'development packages and install scripts in production',
    tests: [
      ['test/proof/delivery/setup.test.ts', 'for the program installs what it needs to run, once'],
    ],
  },
]

/** What dies, hangs or runs full: docs/reliability.md. */
export const SABOTAGES: readonly Proof[] = [
  {
    what: 'an orchestrator killed while a ramp soaks, between two shares, and behind a closed change window',
    tests: [
      [
        'test/proof/chaos/chaos.test.ts',
        'loses no ramp and opens no window when its orchestrator is killed, and starts no share early',
      ],
    ],
  },
  {
    what: 'processes killed, frozen or asked to stop at any moment',
    modes: ['kills', 'freeze'],
    tests: [
      [
        'test/proof/chaos/chaos.test.ts',
        'loses nothing, does nothing out of order, and ends everything',
      ],
    ],
  },
  {
    what: 'the network between programs and server resets, stalls, cuts or drips',
    modes: ['kills'],
    tests: [['test/proof/chaos/chaos.test.ts', 'a network that misbehaves']],
  },
  {
    what: "the database's clock jumps forward by ten minutes",
    tests: [
      ['test/base/run/clock.test.ts', 'lets no lease of a living process lapse when it jumps'],
    ],
  },
  {
    what: 'a change window closes on jobs that wait',
    tests: [
      [
        'test/stories/change-windows.test.ts',
        'calls nobody when a worker is handed jobs just after the close: they come back without a dead letter',
      ],
    ],
  },
  {
    what: 'a wave is undone whose people have moved to another one',
    tests: [
      [
        'test/stories/undo.test.ts',
        'of a wave leaves alone who has moved to another one, and the other wave takes them through',
      ],
    ],
  },
  {
    what: 'a hold of everything with jobs in many batches',
    tests: [
      ['test/engine/orders/holds-races.test.ts', 'withdraws the jobs of several batches at a time'],
      ['test/engine/orders/holds-races.test.ts', 'is answered within 2 s on a machine so slow'],
    ],
  },
  {
    what: 'the server crashes or is gone for a while',
    modes: ['kills', 'database-down'],
    tests: [['test/db/connection/postgres.test.ts', 'listening starts once the server does']],
  },
  {
    what: 'a process starts while the server is down',
    modes: ['database-down'],
    tests: [
      [
        'test/proof/processes/await-database.test.ts',
        'is alive and not ready, starts when the server is there, and is not fooled by an unknown database',
      ],
    ],
  },
  {
    what: 'both orchestrators killed at a blown failure limit, between the condition and the mark that people were told',
    modes: ['notifications'],
    tests: [
      [
        'test/proof/chaos/chaos.test.ts',
        'tells of it once, and of its end once, whenever they die',
      ],
    ],
  },
  {
    what: 'the tenant is cut off while functions run',
    modes: ['cut-tenant'],
    tests: [['test/proof/kill/kill.test.ts', 'leaves every effect exactly once']],
  },
  {
    what: 'a worker killed between a call for many people and their answers',
    tests: [
      [
        'test/stories/together.test.ts',
        'is done once, and answered once, when the worker dies between the call and the answers',
      ],
      ['test/proof/kill/kill.test.ts', 'leaves every effect exactly once'],
    ],
  },
  {
    what: 'a worker killed between the password in its vault and the account, or between the account and its answer',
    tests: [
      ['test/proof/kill/kill.test.ts', 'leaves every effect exactly once'],
      [
        'test/m365/functions/exchange/exchange-move-target.test.ts',
        'before it created leaves alone what is made by hand',
      ],
      [
        'test/m365/functions/exchange/exchange-move-target.test.ts',
        'before the answer recognises its own account days later',
      ],
    ],
  },
  {
    what: 'a tenant that says "busy" after it made a migration batch',
    tests: [
      ['test/m365/functions/moves/migration-moves.test.ts', 'it is found, and there is one'],
      [
        'test/m365/functions/moves/migration-moves.test.ts',
        'while another job makes the batch: nobody is left out of it',
      ],
    ],
  },
  {
    what: 'one bad person among those that one call serves',
    tests: [
      [
        'test/worker/jobs/joint-call.test.ts',
        'fails only the one at fault among a hundred, in few calls',
      ],
      [
        'test/m365/functions/function-waves.test.ts',
        'refused by Exchange fails alone, after a few more calls',
      ],
    ],
  },
  {
    what: "the server's disk is full for 100 s with 500 results waiting",
    tests: [
      [
        'test/orchestrator/orchestrator-outage.test.ts',
        'nothing is dead-lettered, everything finishes',
      ],
    ],
  },
  {
    what: 'a result is dead-lettered all the same',
    tests: [
      [
        'test/orchestrator/orchestrator-outage.test.ts',
        'sends results again that were delivered too often, with an event',
      ],
      [
        'test/orchestrator/orchestrator-outage.test.ts',
        'stops after three replays; then the rule for lost jobs takes over',
      ],
      [
        'test/cli/commands/operator.test.ts',
        'shows removals, moves, rows left out and dead letters with commands that work',
      ],
    ],
  },
  {
    what: 'the disk of the embedded database runs full',
    tests: [
      [
        'test/proof/processes/embedded.test.ts',
        'holds everything on a disk that runs full, never hangs, and opens again with space',
      ],
      ['test/proof/databases/pglite-disk.test.ts', 'keeps what it acknowledged'],
      [
        'test/stories/disk-watch.test.ts',
        'holds everything below the limit, says when there is space again, and continues after a resume',
      ],
    ],
  },
  {
    what: 'the disk of the embedded database runs full again and again, under load',
    modes: ['disk-full'],
    tests: [],
  },
  {
    what: 'schedulers, and all other roles, start while the server is away',
    tests: [
      [
        'test/proof/processes/await-database.test.ts',
        'is alive and not ready, starts when the server is there, and is not fooled by an unknown database',
      ],
    ],
  },
  {
    what: 'snapshots come at start, every hour and before an upgrade',
    tests: [
      ['test/app/roles/runtime.test.ts', 'comes after a snapshot of what is there, once'],
      [
        'test/db/connection/snapshots.test.ts',
        'is due at start and every hour; the first one of a new database after an hour',
      ],
      [
        'test/proof/processes/embedded.test.ts',
        'takes a snapshot at start; a broken folder names it, and it is restored on hold',
      ],
    ],
  },
  {
    what: 'a snapshot is damaged, or would take the last space',
    tests: [
      [
        'test/db/connection/snapshots.test.ts',
        'does not count when its copy is damaged, and leaves nothing behind',
      ],
      [
        'test/db/connection/snapshots.test.ts',
        'is not taken when it would use the last space, and says so',
      ],
      [
        'test/db/connection/snapshots.test.ts',
        'is taken while others write, private, and brings back its moment',
      ],
    ],
  },
  {
    what: 'a process has too little memory for its roles',
    tests: [
      ['test/app/roles/memory.test.ts', 'refuses less than the roles need, and says what to do'],
    ],
  },
  {
    what: 'large results, orchestrators with the least heap',
    modes: ['memory'],
    tests: [
      [
        'test/bus/bundles.test.ts',
        'receives large messages in chunks of bounded bytes, and all of them',
      ],
    ],
  },
  {
    what: 'a tick of 100,000 rows, and of rows of 200 KB, in a small scheduler',
    tests: [
      [
        'test/scheduler/tick.test.ts',
        'writes wide rows in statements of bounded bytes, whatever changes',
      ],
      ['test/scheduler/sources/contract.ts', 'returns wide rows in chunks of bounded bytes'],
    ],
  },
  {
    what: 'the embedded folder does not open',
    tests: [
      [
        'test/proof/processes/embedded.test.ts',
        'takes a snapshot at start; a broken folder names it, and it is restored on hold',
      ],
    ],
  },
  {
    what: 'a restore from a backup while the tenant continues',
    modes: ['restore'],
    tests: [
      [
        'test/stories/restore.test.ts',
        'books no result of the lost time, holds everything, and ends with what the tenant holds',
      ],
    ],
  },
  {
    what: 'a restore while senders and the resume race',
    tests: [
      [
        'test/engine/orders/holds-races.test.ts',
        'sends nothing under the old epoch once a new one has begun, and the resume waits for the sender',
      ],
      [
        'test/engine/orders/restores.test.ts',
        'sends nothing to a member whose earlier job is out, though others are sent first after the resume',
      ],
    ],
  },
  {
    what: 'results in the second before a process notices a restore',
    tests: [
      [
        'test/engine/orders/restores.test.ts',
        'is noticed by a process that misses what it has seen',
      ],
    ],
  },
  {
    what: 'a restore that the database does not show',
    tests: [
      [
        'test/api/contract/restores.test.ts',
        'holds everything, is in the audit, and no earlier job is answered',
      ],
    ],
  },
  {
    what: 'a rolling upgrade under load: old and new release at work on one database',
    tests: [
      [
        'test/proof/releases/rolling.test.ts',
        'the former release works while the next one migrates and joins, and nothing is lost or run twice',
      ],
      [
        'test/db/schema/migrate.test.ts',
        'go together until a migration says from which program on',
      ],
    ],
  },
  {
    what: 'an upgrade while programs are at work that cannot continue, or that hold a lock',
    tests: [
      [
        'test/db/schema/migrate.test.ts',
        'is refused if it would end one of them, unless that is wanted',
      ],
      ['test/db/schema/migrate.test.ts', 'lets them pass when it gets no lock, and tries again'],
      [
        'test/db/schema/migrate.test.ts',
        'builds an index again that a cut connection left unusable',
      ],
    ],
  },
  {
    what: 'messages between two releases',
    tests: [
      ['test/stories/releases/messages.test.ts', 'a signed job with more fields verifies'],
      ['test/stories/releases/messages.test.ts', 'are kept for each'],
    ],
  },
  {
    what: 'an old process meets a schema beyond it',
    tests: [
      [
        'test/proof/processes/schema.test.ts',
        'says so once, takes no more work, is not ready, and loses nothing',
      ],
    ],
  },
  {
    what: 'hanging data sources',
    modes: ['hanging-sources'],
    tests: [
      [
        'test/scheduler/tick.test.ts',
        'lets four sources that hang cost only their own ticks, in one lane',
      ],
      ['test/scheduler/tick.test.ts', 'blocks only its own lane with a slow source'],
    ],
  },
  {
    what: 'a giant batch next to small ones: twice as long as alone at most, with fast and with slow workers',
    modes: ['giant', 'giant-slow'],
    tests: [
      ['test/domain/decide/pace.test.ts', 'is used in full, and a job does not wait long: '],
      [
        'test/proof/chaos/checks.test.ts',
        'compare the best of both kinds, and say all of them when the limit is passed',
      ],
    ],
  },
  {
    what: '300 phases due at once: each starts within 2 s',
    modes: ['many-batches'],
    tests: [
      [
        'test/engine/transactions/several-batches.test.ts',
        'starts due phases of all batches in one transaction',
      ],
    ],
  },
  {
    what: 'a bad or a locked batch among many that share a transaction',
    tests: [
      [
        'test/engine/transactions/several-batches.test.ts',
        'settles the others while one batch is locked, and that one afterwards',
      ],
      [
        'test/orchestrator/messages.test.ts',
        'holds a batch whose runbook can no longer be read; another batch in the chunk continues',
      ],
    ],
  },
  {
    what: 'many batches: 1.5 times the time of one at most',
    modes: ['many-batches'],
    tests: [
      [
        'test/engine/transactions/several-batches.test.ts',
        'settles results of all batches in one transaction, and sends what follows',
      ],
      [
        'test/orchestrator/many-batches.test.ts',
        'costs the same per batch with 40 batches as with 18',
      ],
      [
        'test/orchestrator/many-batches.test.ts',
        'lets batches take turns: each has begun with a member before one begins with its second',
      ],
    ],
  },
  {
    what: 'a process with less memory than its roles need',
    tests: [
      [
        'test/proof/processes/serve.test.ts',
        'refuses a heap that is too small for its roles, before it opens anything',
      ],
    ],
  },
  {
    what: 'a slow listener of live events',
    tests: [
      [
        'test/api/events/event-feed.test.ts',
        'a listener that reads slowly gets every event later; nothing is queued for it and the others continue',
      ],
    ],
  },
  {
    what: '200 slow listeners of live events',
    tests: [
      [
        'test/api/events/event-feed.test.ts',
        '200 listeners that stop reading cost a page each, and the others continue',
      ],
    ],
  },
  {
    what: 'a live listener while many write: the last events too',
    tests: [
      [
        'test/api/events/event-feed.test.ts',
        'a live listener gets every event of many writers, the last ones too',
      ],
      [
        'test/api/events/event-feed.test.ts',
        'an event of a slow transaction comes before the later ids of a fast one',
      ],
    ],
  },
  {
    what: '20,000 polls due in one second',
    tests: [
      [
        'test/orchestrator/timers.test.ts',
        'wakes and sends hundreds of polls that are due in one second, each once, set by set',
      ],
    ],
  },
  {
    what: 'a folder that cannot be written to',
    tests: [['test/proof/processes/instances.test.ts', 'before anything starts: ']],
  },
  {
    what: 'on Service Bus: links and connections cut, busy servers, lost answers, lost and expired locks, a relay that dies between sending and marking, dead letters',
    modes: ['servicebus-seeds'],
    tests: [
      ['test/proof/servicebus/seeds.test.ts', 'break no promise with seed '],
      [
        'test/bus/servicebus/relay.test.ts',
        'sends again after a crash between sending and marking, and the broker drops the second',
      ],
    ],
  },
  {
    what: 'two of every role on several processes, killed in random order, sometimes all of one kind, while operators act over HTTP',
    modes: ['cluster', 'cluster-servicebus'],
    tests: [],
  },
  {
    what: 'Service Bus refuses the identity of a process, or its token ends',
    tests: [
      [
        'test/proof/servicebus/sign-in.test.ts',
        'is not ready when its token is refused, and says which right is missing',
      ],
      [
        'test/proof/servicebus/sign-in.test.ts',
        'gives a new token before the old one ends, on the link that it has',
      ],
    ],
  },
  {
    what: 'two processes on one embedded folder',
    tests: [
      [
        'test/db/connection/folder-lock.test.ts',
        'refuses a second process, names the first, and admits it once the first is killed',
      ],
    ],
  },
]
