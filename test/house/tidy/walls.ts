// The walls: which folder may import which, and what only one file may do. Read from top to bottom, ROOMS is the architecture.
import { importsOf, isCode, lineOf, type SourceFile, scan } from './source.ts'

/** A house rule: gives a sentence for each place where it is broken. */
export interface Rule {
  readonly name: string
  check(files: readonly SourceFile[]): string[]
}

/**
 * `root` is config, errors, log, clock, service and the like, right under src/. main.ts wires all and nothing imports it. A
 * name with a slash is one file of a room: the sandbox plays the other side, and must not lean on what it is there to test.
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  root: ['domain'],
  telemetry: ['root', 'domain'],
  'sign-in': ['root', 'domain'],
  db: ['root', 'domain'],
  evidence: ['root', 'domain'],
  bus: ['root', 'domain', 'db'],
  engine: ['root', 'domain', 'db', 'bus', 'telemetry'],
  scheduler: ['root', 'domain', 'db', 'bus', 'engine', 'sign-in'],
  orchestrator: ['root', 'domain', 'db', 'bus', 'engine'],
  notifications: ['root', 'domain', 'db', 'engine', 'sign-in'],
  api: ['root', 'domain', 'db', 'bus', 'engine', 'evidence', 'telemetry'],
  worker: ['root', 'domain', 'bus', 'sign-in', 'telemetry'],
  sandbox: ['root', 'domain/json'],
  client: ['root', 'api/routes'],
  cli: ['root', 'domain', 'client', 'evidence'],
  app: [
    'root',
    'domain',
    'db',
    'bus',
    'engine',
    'notifications',
    'scheduler',
    'orchestrator',
    'api',
    'worker',
    'sandbox',
    'sign-in',
    'telemetry',
    'client',
    'evidence',
    'cli',
  ],
}
/** Packages that only compute. The domain may use them and nothing else. */
const PURE_PACKAGES = ['yaml', 'zod', 'csv-parse']

export function roomOf(path: string): string {
  const [top, first, ...deeper] = path.split('/')
  if (top !== 'src') return top!
  if (first === 'main.ts') return 'main'
  return deeper.length === 0 ? 'root' : first!
}

const sourcesOf = (files: readonly SourceFile[]) =>
  files.filter(({ path }) => path.startsWith('src/') && isCode(path))

const rooms: Rule = {
  name: 'rooms are entered only from where they may be',
  check: (files) =>
    sourcesOf(files).flatMap((file) => {
      const room = roomOf(file.path)
      if (room === 'main') return []
      const allowed = ROOMS[room]
      if (!allowed) return [`${file.path} is in "${room}", which is no room of ROOMS`]
      return importsOf(file)
        .filter(({ isOurs, target }) => isOurs && isCode(target))
        .filter(({ target }) => ![room, ...allowed].includes(roomOf(target)))
        .filter(({ target }) => !allowed.includes(target.replace(/^src\/|\.ts$/g, '')))
        .map(({ target }) => `${file.path} imports from ${roomOf(target)}; ${room} may not`)
    }),
}

const dashboardWall: Rule = {
  name: 'the dashboard sees the API only: of the program it takes types, the client and the domain, which run in a browser',
  check: (files) =>
    files
      .filter(({ path }) => path.startsWith('dashboard/') && isCode(path))
      .flatMap((file) =>
        importsOf(file)
          .filter(({ isOurs, target }) => isOurs && !target.startsWith('dashboard/'))
          .filter(({ isType, target }) => !isType && !['domain', 'client'].includes(roomOf(target)))
          .map(({ target }) => `${file.path} takes more than types from ${target}`),
      ),
}

const clientAlone: Rule = {
  name: 'the client runs by itself: of the program it takes types, and nothing of Node',
  check: (files) =>
    sourcesOf(files)
      .filter(({ path }) => roomOf(path) === 'client')
      .flatMap((file) =>
        importsOf(file)
          .filter(({ isOurs, isType, target }) =>
            isOurs ? !isType && roomOf(target) !== 'client' : true,
          )
          .map(({ target }) => `${file.path} takes more than types from ${target}`),
      ),
}

const pureDomain: Rule = {
  name: 'the domain does no I/O',
  check: (files) =>
    sourcesOf(files)
      .filter(({ path }) => roomOf(path) === 'domain')
      .flatMap((file) =>
        importsOf(file)
          .filter(({ isOurs, target }) => !isOurs && !PURE_PACKAGES.includes(target))
          .map(({ target }) => `${file.path} imports ${target}, which does more than compute`),
      ),
}

/** What a file loads when the program runs, over any number of imports. */
function reachableFrom(path: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>()
  const open = [path]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const target of imports.get(next) ?? []) {
      if (reached.has(target)) continue
      reached.add(target)
      open.push(target)
    }
  }
  return reached
}

function runtimeImports(files: readonly SourceFile[]): Map<string, string[]> {
  const ours = (file: SourceFile) =>
    importsOf(file).filter(({ isOurs, isType }) => isOurs && !isType)
  return new Map(files.map((file) => [file.path, ours(file).map(({ target }) => target)]))
}

const workerWithoutDatabase: Rule = {
  name: 'the worker reaches neither database nor engine, however far round',
  check: (files) => {
    const imports = runtimeImports(sourcesOf(files))
    return [...imports.keys()]
      .filter((path) => roomOf(path) === 'worker')
      .flatMap((path) =>
        [...reachableFrom(path, imports)]
          .filter((target) => ['db', 'engine'].includes(roomOf(target)))
          .map((target) => `${path} reaches ${target}`),
      )
  },
}

const noCycles: Rule = {
  name: 'imports run one way',
  check: (files) => {
    const imports = runtimeImports(sourcesOf(files))
    return [...imports.keys()]
      .filter((path) => reachableFrom(path, imports).has(path))
      .map((path) => `${path} imports itself by way of others`)
  },
}

/** What only some files may do: a pattern in their code, and where it may stand. */
interface Privilege {
  readonly what: string
  readonly pattern: RegExp
  readonly within: RegExp
  readonly allowed: RegExp
}

const CLOCK =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bperformance\.now\b|\bprocess\.hrtime\b/
const PRIVILEGES: readonly Privilege[] = [
  { what: 'reads the clock', pattern: CLOCK, within: /^src\//, allowed: /^src\/clock\.ts$/ },
  {
    what: 'reads the environment',
    pattern: /\bprocess\.env\b|\benv\b.*from 'node:process'/,
    within: /^src\//,
    // The proxy is needed before the settings, which most commands never load.
    allowed: /^src\/(config|proxy)\.ts$/,
  },
  {
    what: 'repeats by setInterval instead of everyLoop',
    pattern: /\bsetInterval\(/,
    within: /^(src|test)\//,
    allowed: /^$/,
  },
  {
    what: 'makes chance of its own, so that a seed does not replay',
    pattern: /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/,
    within: /^src\/(domain|engine|db|bus|scheduler|orchestrator)\//,
    allowed: /^$/,
  },
  {
    what: 'writes to the console instead of the log or its io',
    pattern: /\bconsole\./,
    within: /^src\//,
    allowed: /^src\/(main\.ts|cli\/)/,
  },
  {
    what: 'sleeps instead of turning a clock',
    pattern: /\bsetTimeout\(|timers\/promises/,
    within: /^test\//,
    allowed: /^$/,
  },
]

const privileges: Rule = {
  name: 'clock, environment, chance and console belong to one file each',
  check: (files) =>
    files
      .filter(({ path }) => isCode(path))
      .flatMap((file) =>
        PRIVILEGES.filter(
          ({ within, allowed }) => within.test(file.path) && !allowed.test(file.path),
        )
          .map(({ what, pattern }) => ({ what, at: scan(file).code.search(pattern) }))
          .filter(({ at }) => at >= 0)
          .map(({ what, at }) => `${file.path}:${lineOf(file.text, at)} ${what}`),
      ),
}

const IMPURE_SQL =
  /\b(?:now|random|gen_random_uuid|uuidv4|uuidv7|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\s*\(|\b(?:current_timestamp|current_date|current_time|localtimestamp|localtime)\b/i

const replayableSql: Rule = {
  name: 'SQL gets time and chance as parameters',
  check: (files) =>
    files.flatMap((file) => {
      if (file.path === 'src/db/connection/time.ts') return []
      const isSql = file.path.endsWith('.sql')
      if (!isSql && !/^src\/(db|bus)\//.test(file.path)) return []
      const texts = isSql ? [file.text.replaceAll(/--[^\n]*/g, '')] : scan(file).strings
      return texts
        .map((text) => text.match(IMPURE_SQL)?.[0])
        .filter((found) => found !== undefined)
        .map((found) => `${file.path} uses ${found} in SQL`)
    }),
}

const SQL_STATEMENT =
  /\bselect\s[\s\S]*?\sfrom\s|\binsert\s+into\s|\bupdate\s+\w+\s+(?:\w+\s+)?set\s|\bdelete\s+from\s/

const sqlAtHome: Rule = {
  name: 'SQL stands in src/db, src/bus and sql only',
  check: (files) =>
    sourcesOf(files)
      .filter(({ path }) => !/^src\/(db|bus)\//.test(path))
      .flatMap((file) =>
        scan(file)
          .strings.filter((text) => SQL_STATEMENT.test(text))
          .map((text) => `${file.path} holds SQL: ${text.trim().slice(0, 40)}…`),
      ),
}

const TRANSPORT_FOLDER = /^src\/bus\/[^/]+\//
const TRANSPORT_TABLE = 'src/app/roles/transports.ts'

const transportsBehindContract: Rule = {
  name: 'only the table of transports imports a transport',
  check: (files) =>
    sourcesOf(files)
      .filter(({ path }) => path !== TRANSPORT_TABLE)
      .flatMap((file) => {
        const own = TRANSPORT_FOLDER.exec(file.path)?.[0]
        return importsOf(file)
          .filter(({ isOurs, target }) => isOurs && TRANSPORT_FOLDER.test(target))
          .filter(({ target }) => own === undefined || !target.startsWith(own))
          .map(({ target }) => `${file.path} imports the transport ${target}`)
      }),
}

const BUS_TABLE = /\b(?:from|into|join|update|table)\s+(bundles|message_ids|dead_letters)\b/

const busTablesAtHome: Rule = {
  name: 'only the bus and the invariants read its tables',
  check: (files) =>
    sourcesOf(files)
      .filter(({ path }) => !/^src\/(bus|db\/invariants)\//.test(path))
      .flatMap((file) =>
        scan(file)
          .strings.map((text) => BUS_TABLE.exec(text)?.[1])
          .filter((table) => table !== undefined)
          .map((table) => `${file.path} names ${table}, a table of the bus`),
      ),
}

export const WALLS: readonly Rule[] = [
  rooms,
  dashboardWall,
  clientAlone,
  pureDomain,
  workerWithoutDatabase,
  noCycles,
  transportsBehindContract,
  busTablesAtHome,
  privileges,
  replayableSql,
  sqlAtHome,
]
