// The walls: which folder may import which, and what only one file may do. Read from top to bottom, ROOMS is the architecture.
import STANDARD from '../../../src/m365/standard-functions.json' with { type: 'json' }
import { importsOf, isCode, lineOf, type SourceFile, scan } from './source.ts'

/** A house rule: gives a sentence for each place where it is broken. */
export interface Rule {
  readonly name: string
  check(files: readonly SourceFile[]): string[]
}

/**
 * Each room imports only rooms above it; `app` puts them together. Next to src stand the sandbox, which must not lean on what it is there
 * to test, and the dashboard, which has a rule of its own. ARCHITECTURE.md shows this table, and a test compares the two.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  domain: ['base/text'],
  db: ['base', 'domain'],
  bus: ['base', 'domain', 'db'],
  engine: ['base', 'domain', 'db', 'bus'],
  scheduler: ['base', 'domain', 'db', 'bus', 'engine'],
  orchestrator: ['base', 'domain', 'db', 'bus', 'engine'],
  worker: ['base', 'domain', 'bus'],
  m365: ['base', 'domain', 'worker'],
  api: ['base', 'domain', 'db', 'bus', 'engine'],
  cli: ['base', 'domain', 'api/client', 'api/evidence'],
  app: [
    'base',
    'domain',
    'db',
    'bus',
    'engine',
    'scheduler',
    'orchestrator',
    'worker',
    'm365',
    'api',
    'cli',
    'sandbox',
  ],
  sandbox: [],
}
/** Parts of a room that may import less than the room, besides themselves. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  'base/text': [],
}
/** The worker takes the contract of the bus, and no transport. */
const BUS_FOR_WORKERS = ['src/bus/bus.ts', 'src/bus/outage.ts']
/** Packages that only compute. The domain may use them and nothing else. */
const PURE_PACKAGES = ['yaml', 'zod', 'csv-parse']

/** The first folder under src, or the one next to it. */
export function roomOf(path: string): string {
  const [top, first, ...deeper] = path.split('/')
  if (top !== 'src') return top!
  return deeper.length === 0 ? 'main' : first!
}

const sourcesOf = (files: readonly SourceFile[]) =>
  files.filter(({ path }) => /^(?:src|sandbox)\//.test(path) && isCode(path))

const isWithin = (path: string, place: string): boolean =>
  path.replace(/^src\//, '').startsWith(`${place}/`)

const rooms: Rule = {
  name: 'rooms are entered only from where they may be',
  check: (files) =>
    sourcesOf(files).flatMap((file) => {
      const room = roomOf(file.path)
      if (room === 'main') return []
      const rule = ROOMS[room]
      if (!rule) return [`${file.path} is in "${room}", which is no room of ROOMS`]
      const part = Object.keys(PARTS).find((one) => isWithin(file.path, one))
      const allowed = part === undefined ? [room, ...rule] : [part, ...PARTS[part]!]
      return importsOf(file)
        .filter(({ isOurs, target }) => isOurs && isCode(target))
        .filter(({ target }) => !allowed.some((place) => isWithin(target, place)))
        .map(({ target }) => `${file.path} imports from ${roomOf(target)}; ${part ?? room} may not`)
    }),
}

const workerAndBus: Rule = {
  name: 'the worker takes the contract of the bus and nothing behind it',
  check: (files) =>
    sourcesOf(files)
      .filter(({ path }) => ['worker', 'm365'].includes(roomOf(path)))
      .flatMap((file) =>
        importsOf(file)
          .filter(({ isOurs, target }) => isOurs && roomOf(target) === 'bus')
          .filter(({ target }) => !BUS_FOR_WORKERS.includes(target))
          .map(({ target }) => `${file.path} imports ${target}; the contract is bus/bus.ts`),
      ),
}

const CORE = [
  'base',
  'domain',
  'db',
  'bus',
  'engine',
  'scheduler',
  'orchestrator',
  'worker',
  'api',
  'cli',
]
/** The vendor's services and its functions. */
const VENDOR = new RegExp(
  [
    /\w*(?:Graph|Exchange|Entra|OneDrive)\w*/.source,
    /\b(?:graph|exchange|entra|onedrive)(?![a-z])\w*/.source,
    `\\b(?:${STANDARD.map(({ name }) => name).join('|')})\\b`,
  ].join('|'),
  'g',
)
/** Azure is where matoolkit runs and signs in, not a tenant that it changes; a package has a function for messages of that name. */
const HOSTS: Readonly<Record<string, RegExp>> = {
  'src/base/sign-in/': /^(?:Entra|entra\w*|AzureADTokenExchange\w*)$/,
  'src/base/settings/': /^(?:Entra|Graph|Exchange|graph\w+|exchange\w+)$/,
  'src/base/errors/': /^Entra$/i,
  'src/db/schema/entra-roles.ts': /Entra/,
  'src/cli/sign-in/': /^(?:isEntra|entraIssuer|exchange)$/,
  'src/cli/commands/auth/': /^Entra$/,
  'src/api/sign-in/': /^(?:checkEntra|entra|entraOf)$/,
  'src/api/api.ts': /^entraOf$/,
  'src/scheduler/sources/': /^entra$/,
  // It sends mail: its settings name the service.
  'src/engine/notify/': /^(?:graph|entra)$/,
  'src/domain/member-messages/message-text.ts': /^Send-Message$/,
}

const wordsOfVendor = (file: SourceFile): string[] => {
  const { code, strings } = scan(file)
  return [code, ...strings].flatMap((text) => text.match(VENDOR) ?? [])
}

const isInCore = ({ path }: SourceFile): boolean =>
  path.startsWith('src/') && CORE.includes(roomOf(path)) && isCode(path)

const hostOf = ({ path }: SourceFile): string | undefined =>
  Object.keys(HOSTS).find((place) => path.startsWith(place))

const noVendorInCore: Rule = {
  name: 'the core names no service and no function of a vendor',
  check: (files) =>
    files.filter(isInCore).flatMap((file) => {
      const host = hostOf(file)
      return wordsOfVendor(file)
        .filter((word) => host === undefined || !HOSTS[host]!.test(word))
        .map((word) => `${file.path} names ${word}: it belongs to a package of functions`)
    }),
}

/** Exceptions that nothing needs any more. */
export const idleHosts = (files: readonly SourceFile[]): string[] =>
  Object.entries(HOSTS)
    .filter(
      ([place, allowed]) =>
        !files.some(
          (file) =>
            hostOf(file) === place && wordsOfVendor(file).some((word) => allowed.test(word)),
        ),
    )
    .map(([place]) => place)

const FILES_IN_FOLDER_MAX = 30
/** One file an endpoint, a command or a decision: their names are the index. */
const LARGE_FOLDERS = ['src/api/routes', 'src/cli/commands', 'src/domain/decide']

const folderSize: Rule = {
  name: `a folder has at most ${FILES_IN_FOLDER_MAX} files, and src none but main.ts`,
  check: (files) => {
    const folders = Map.groupBy(sourcesOf(files), ({ path }) =>
      path.split('/').slice(0, -1).join('/'),
    )
    const crowded = [...folders]
      .filter(
        ([folder, found]) => found.length > FILES_IN_FOLDER_MAX && !LARGE_FOLDERS.includes(folder),
      )
      .map(
        ([folder, found]) =>
          `${folder} has ${found.length} files: what belongs together gets a folder`,
      )
    const loose = (folders.get('src') ?? [])
      .filter(({ path }) => path !== 'src/main.ts')
      .map(({ path }) => `${path} lies loose under src: put it into its room`)
    return [...crowded, ...loose]
  },
}

/** A row of the table of rooms in ARCHITECTURE.md: the room, what is in it, what it may import. */
const ROOM_ROW = /^\| `(?:src\/)?([\w-]+)\/?` \| .* \| ([^|]*) \|$/gm

const roomTable: Rule = {
  name: 'ARCHITECTURE.md shows the rooms and what each may import',
  check: (files) => {
    const page = files.find(({ path }) => path === 'ARCHITECTURE.md')?.text ?? ''
    const table = page.split('## Rooms')[1]?.split('\n## ')[0] ?? ''
    const shown = new Map(
      [...table.matchAll(ROOM_ROW)].map(([, room, may]) => [room!, may!.trim()]),
    )
    if (table === '') return page === '' ? [] : ['ARCHITECTURE.md has no table under "## Rooms"']
    return Object.entries(ROOMS).flatMap(([room, allowed]) => {
      const everything = Object.keys(ROOMS).length - 1
      const may =
        allowed.length === 0
          ? 'nothing'
          : allowed.length === everything
            ? 'all'
            : allowed.join(', ')
      return shown.get(room) === may
        ? []
        : [`ARCHITECTURE.md says that ${room} may import "${shown.get(room)}", ROOMS says "${may}"`]
    })
  },
}

/** What of the program runs in a browser. */
const BROWSER = ['domain', 'base/text', 'api/client']

const dashboardWall: Rule = {
  name: 'the dashboard sees the API only: of the program it takes types, the client and the domain, which run in a browser',
  check: (files) =>
    files
      .filter(({ path }) => path.startsWith('dashboard/') && isCode(path))
      .flatMap((file) =>
        importsOf(file)
          .filter(({ isOurs, target }) => isOurs && !target.startsWith('dashboard/'))
          .filter(
            ({ isType, target }) => !isType && !BROWSER.some((place) => isWithin(target, place)),
          )
          .map(({ target }) => `${file.path} takes more than types from ${target}`),
      ),
}

const clientAlone: Rule = {
  name: 'the client runs by itself: of the program it takes types, and nothing of Node',
  check: (files) =>
    sourcesOf(files)
      .filter(({ path }) => isWithin(path, 'api/client'))
      .flatMap((file) =>
        importsOf(file)
          .filter(({ isOurs, isType, target }) =>
            isOurs ? !isType && !isWithin(target, 'api/client') : true,
          )
          .map(({ target }) => `${file.path} takes more than types from ${target}`),
      ),
}

const pureDomain: Rule = {
  name: 'the domain does no I/O',
  check: (files) =>
    sourcesOf(files)
      .filter(({ path }) => roomOf(path) === 'domain' || isWithin(path, 'base/text'))
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
      .filter((path) => ['worker', 'm365'].includes(roomOf(path)))
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
  {
    what: 'reads the clock',
    pattern: CLOCK,
    within: /^(?:src|sandbox)\//,
    allowed: /^src\/base\/run\/clock\.ts$/,
  },
  {
    what: 'reads the environment',
    pattern: /\bprocess\.env\b|\benv\b.*from 'node:process'/,
    within: /^(?:src|sandbox)\//,
    // The proxy is needed before the settings, which most commands never load.
    allowed: /^src\/base\/(?:settings\/config|run\/proxy)\.ts$/,
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
  workerAndBus,
  noVendorInCore,
  folderSize,
  roomTable,
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
