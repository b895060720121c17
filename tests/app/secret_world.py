"""Secrets for tests. Every token is made up, and put together so that no scanner finds it."""

import re

from ai_lessons.errors import InvalidEntry

RANDOM = "q7Zk3Xw9Rt5Lm1Vb8Nc4Hs6Jd2Fg0PyTaUeWoQiKx"
FAKE = {
    "GitHub": "gh" + "p_" + RANDOM[:36],
    "GitHub, fine-grained": "github" + "_pat_" + RANDOM + RANDOM,
    "GitLab": "gl" + "pat-" + RANDOM[:20],
    "Slack": "xox" + "b-123456789012-1234567890123-" + RANDOM[:24],
    "Stripe": "sk" + "_live_" + RANDOM[:24],
    "AWS": "AK" + "IA" + "Q7ZK3XW9RT5LM1VB",
    "SendGrid": "S" + "G." + RANDOM[:22] + "." + (RANDOM * 2)[:43],
    "Anthropic": "sk-" + "ant-api03-" + RANDOM,
    "Google": "AI" + "za" + RANDOM[:35],
    "Hugging Face": "h" + "f_" + RANDOM[:34],
    "private key": "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA" + RANDOM + "\n",
    "Azure": "Account" + "Key=" + (RANDOM * 3)[:86] + "==",
    "PyPI": "pypi-" + "AgEIcHlwaS5vcmc" + RANDOM * 2,
    "Twilio": "S" + "K0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "URL": "git clone https://" + f"bob:{RANDOM[:12]}@git.example.com/shop.git",
    "database": "postgresql+psycopg://" + f"app:p%40ss-{RANDOM[:5]}@db:5432/shop",
    "Telegram": "123456789:" + "AA" + RANDOM[:33],
}


def mark_of(error: InvalidEntry) -> str:
    return str(re.findall(r"\[([0-9a-f]{12}): REASON\]", error.problems[0].message)[0])
