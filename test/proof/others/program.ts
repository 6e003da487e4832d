// Programs of other projects that judge what we say, where the machine has them. `npm test` needs none.
import { execFile, spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'

const MS_MAX = 60_000

/** Whether a program starts and says so. */
export const works = (program: string, args: readonly string[]): Promise<boolean> =>
  promisify(execFile)(program, args, { timeout: MS_MAX }).then(
    () => true,
    () => false,
  )

/** A Python that has these modules: the distribution's may be another one than that of the path. */
export async function pythonWith(...modules: readonly string[]): Promise<string | null> {
  for (const python of ['python3', '/usr/bin/python3'])
    if (await works(python, ['-c', `import ${modules.join(', ')}`])) return python
  return null
}

/** Runs a program to its end, and returns what it wrote. */
export async function ask(
  program: string,
  args: readonly string[],
  input = '',
  env = process.env,
): Promise<string> {
  const child = spawn(program, args, { timeout: MS_MAX, env })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('close', resolve)
    child.on('error', reject)
  })
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (code !== 0) throw new Error(`${program} ended with ${code}:\n${err}\n${out}`)
  return out
}
