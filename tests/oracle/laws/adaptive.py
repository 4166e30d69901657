from laws.base import Law
class Adaptive(Law):
    TAG = 0
