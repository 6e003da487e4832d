// `node scripts/run.mjs <file.ts> [args…]`: does the set-up, then runs the file on the right Node.
import { spawn } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { buildDashboard, compileCache, install, isDashboardBuilt, root, runtime } from './setup.mjs'

// Tests, benchmarks and tools need more than the program itself; so does building the dashboard.
install({ withDevelopment: process.argv[2] !== 'src/main.ts' || !isDashboardBuilt() })
buildDashboard()
const node = runtime()
const child = spawn(node, process.argv.slice(2), {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
    // The tests start 300 programs.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? compileCache,
  },
})
// The child is the program: it gets the signals and decides how to stop; we end as it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
