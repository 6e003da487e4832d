// `node smoke-test.mjs <url>`: does the API at this address work? It is ready, it tells its version, and it lets nobody in without a
// token. Needs no sign-in and changes nothing. Exit code 1 and a sentence otherwise. SMOKE_WAIT_SEC: how long it may take to be ready.
const [url] = process.argv.slice(2)
if (url === undefined || !URL.canParse(url)) {
  console.error('usage: node smoke-test.mjs <url of the API>')
  process.exit(2)
}
const waitMs = Number(process.env.SMOKE_WAIT_SEC ?? 180) * 1_000
const PAUSE_MS = 2_000
const ANSWER_MS = 10_000

/** The status and the body, or why there is none. */
async function get(path) {
  try {
    const response = await fetch(new URL(path, url), { signal: AbortSignal.timeout(ANSWER_MS) })
    const body = await response.json().catch(() => null)
    return { status: response.status, body }
  } catch (error) {
    return { status: 0, body: null, why: String(error.cause ?? error) }
  }
}

function fail(sentence) {
  console.error(`${url}: ${sentence}`)
  process.exit(1)
}

const begun = performance.now()
for (;;) {
  const { status, body, why } = await get('/api/ready')
  if (status === 200) break
  if (performance.now() - begun > waitMs) {
    const failed = body?.checks
      ?.filter(({ isOk }) => !isOk)
      .map(({ name, about }) => `${name}: ${about}`)
    fail(`is not ready (${why ?? [status, ...(failed ?? [])].join(', ')})`)
  }
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
}
const { body: document } = await get('/api/openapi.json')
if (typeof document?.info?.version !== 'string') fail('does not tell its version')
const closed = await get('/api/batches')
if (closed.status !== 401) fail(`answers ${closed.status} without a token instead of 401`)
console.log(`${url}: version ${document.info.version} is ready and closed to strangers`)
