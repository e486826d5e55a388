import ts from 'typescript';

/** A comparison whose duration can depend on a secret: its line and its text. */
export type Comparison = { line: number; text: string };

/** Names of secret values, singular or plural. */
const SECRET =
  /(?:^|[_-]|[a-z])(?:secret|token|hash|digest|signature|password|hmac|mac|cookie|nonce)(?:s|es)?$/i;
const EQUALITIES = new Set([
  ts.SyntaxKind.EqualsEqualsToken,
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
]);
/** Methods that compare their argument with their object. */
const COMPARING = new Set([
  'includes',
  'indexOf',
  'has',
  'get',
  'startsWith',
  'endsWith',
  'localeCompare',
  'equals',
  'compare',
]);
/** Comparisons with these values reveal nothing about a secret. */
const NOTHING = new Set(['null', 'undefined', "''", '""']);

/** Returns all comparisons of values with names of secrets, except those by `timingSafeEqual`. */
export function comparisonsOfSecrets(file: string, source: string): Comparison[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found: Comparison[] = [];
  const visit = (node: ts.Node): void => {
    if (comparesSecret(node)) {
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart(tree));
      found.push({ line: line + 1, text: node.getText(tree).replaceAll(/\s+/g, ' ') });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

function comparesSecret(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node) && EQUALITIES.has(node.operatorToken.kind)) {
    const sides = [node.left, node.right];
    return sides.some(isSecret) && !sides.some(isNothing);
  }
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { name, expression } = node.expression;
    if (!COMPARING.has(name.text)) return false;
    // `get` compares the keys of a map, not its values.
    const isCompared = name.text !== 'get' && isSecret(expression) && !node.arguments.every(isLiteral);
    return isCompared || node.arguments.some(isSecret);
  }
  return ts.isSwitchStatement(node) && isSecret(node.expression);
}

function isSecret(node: ts.Expression): boolean {
  const name = nameOf(node);
  return name !== null && SECRET.test(name);
}

/** Returns the name of a value: its own, that of its member, or that of the function that returns it. */
function nameOf(node: ts.Expression): string | null {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (ts.isElementAccessExpression(node)) {
    return ts.isStringLiteralLike(node.argumentExpression)
      ? node.argumentExpression.text
      : nameOf(node.expression);
  }
  if (ts.isCallExpression(node)) return nameOf(node.expression);
  if (
    ts.isAwaitExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node)
  ) {
    return nameOf(node.expression);
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
    return nameOf(node.left);
  return null;
}

function isNothing(node: ts.Expression): boolean {
  return NOTHING.has(node.getText());
}

function isLiteral(node: ts.Expression): boolean {
  return ts.isStringLiteralLike(node) || ts.isNumericLiteral(node);
}
