// Modules that the bundler makes: the worker as text, style sheets.
// In: nothing. Out: types alone. Left to neighbours: build.mjs, which resolves them.
declare module "worker:text" {
  const text: string;
  export default text;
}
declare module "*.css";
